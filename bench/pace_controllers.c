/* pace_controllers - see the header. SPDX-License-Identifier: MIT */
#include "pace_controllers.h"

#include <math.h>

#define IN_FLIGHT_MAX 256

/* ---- a bucket for those that yield a rate only ---- */

struct paced {
    double rate; /* per second */
    double tokens;
    int64_t at_ms;
    uint32_t in_flight;
};

static int64_t paced_ask(struct paced *paced, int64_t now_ms)
{
    double most = fmax(1.0, paced->rate / 10);
    paced->tokens =
        fmin(most, paced->tokens + (double)(now_ms - paced->at_ms) * paced->rate / 1000);
    paced->at_ms = now_ms;
    if (paced->in_flight >= IN_FLIGHT_MAX) {
        return 10;
    }
    if (paced->tokens < 1.0) {
        return (int64_t)ceil((1.0 - paced->tokens) * 1000 / paced->rate);
    }
    paced->tokens -= 1.0;
    paced->in_flight++;
    return 0;
}

/* ---- P2's rule: a limit on what is in flight, and nothing else ---- */

static struct lull_pacer p2;
static uint32_t p2_in_flight;
static int64_t p2_halted_until_ms;

static void p2_start(uint64_t seed)
{
    (void)seed;
    struct lull_pacer_config config;
    lull_pacer_config_default(&config);
    (void)lull_pacer_init(&p2, &config, 0);
    p2_in_flight = 0;
    p2_halted_until_ms = 0;
}

static int64_t p2_ask(int64_t now_ms, uint64_t backlog, struct lull_service_permit *ret_permit)
{
    (void)backlog;
    (void)ret_permit;
    if (now_ms < p2_halted_until_ms) {
        return p2_halted_until_ms - now_ms;
    }
    if (p2_in_flight >= lull_pacer_limit(&p2, now_ms)) {
        return 10;
    }
    p2_in_flight++;
    return 0;
}

static bool p2_answer(int64_t now_ms, const struct pace_answer *answer)
{
    p2_in_flight--;
    if (lull_pacer_report(&p2, now_ms, answer->is_throttled) == LULL_PACER_HALT) {
        int64_t halt_ms = answer->retry_after_ms > 0 ? answer->retry_after_ms : 30000;
        p2_halted_until_ms = now_ms + halt_ms;
    }
    return false;
}

/* ---- AIMD: ten more each second, half at a refusal, at most once a second ---- */

static struct paced aimd;
static int64_t aimd_cut_ms;
static int64_t aimd_grown_ms;

static void aimd_start(uint64_t seed)
{
    (void)seed;
    aimd = (struct paced){.rate = 100};
    aimd_cut_ms = INT64_MIN / 2;
    aimd_grown_ms = 0;
}

static int64_t aimd_ask(int64_t now_ms, uint64_t backlog, struct lull_service_permit *ret_permit)
{
    (void)backlog;
    (void)ret_permit;
    aimd.rate += 10.0 * (double)(now_ms - aimd_grown_ms) / 1000;
    aimd_grown_ms = now_ms;
    return paced_ask(&aimd, now_ms);
}

static bool aimd_answer(int64_t now_ms, const struct pace_answer *answer)
{
    aimd.in_flight--;
    if (answer->is_throttled && now_ms - aimd_cut_ms >= 1000) {
        aimd.rate = fmax(1.0, aimd.rate / 2);
        aimd_cut_ms = now_ms;
    }
    return false;
}

/* ---- CUBIC, as the AWS SDKs' adaptive mode has it: beta 0.7, scale 0.4, the rate never more
 * than twice what was measured in half-second steps, smoothed by 0.8 ---- */

static struct {
    struct paced paced;
    bool is_enabled;
    double last_max;
    double last_throttle_s;
    double measured;
    double bucket_s; /* end of the last half second that was measured */
    double sent;
} cubic;

static void cubic_start(uint64_t seed)
{
    (void)seed;
    cubic.paced = (struct paced){.rate = 100};
    cubic.is_enabled = false;
    cubic.last_max = 0;
    cubic.last_throttle_s = 0;
    cubic.measured = 0;
    cubic.bucket_s = 0;
    cubic.sent = 0;
}

static int64_t cubic_ask(int64_t now_ms, uint64_t backlog, struct lull_service_permit *ret_permit)
{
    (void)backlog;
    (void)ret_permit;
    if (!cubic.is_enabled) { /* the limiter sleeps until the first refusal */
        if (cubic.paced.in_flight >= IN_FLIGHT_MAX) {
            return 10;
        }
        cubic.paced.in_flight++;
        return 0;
    }
    return paced_ask(&cubic.paced, now_ms);
}

static bool cubic_answer(int64_t now_ms, const struct pace_answer *answer)
{
    double now_s = (double)now_ms / 1000;
    cubic.paced.in_flight--;
    cubic.sent++;
    double half_s = floor(now_s * 2) / 2;
    if (half_s > cubic.bucket_s) {
        double current = cubic.sent / (half_s - cubic.bucket_s);
        cubic.measured = current * 0.8 + cubic.measured * 0.2;
        cubic.sent = 0;
        cubic.bucket_s = half_s;
    }
    double rate = 0;
    if (answer->is_throttled) {
        double in_use = cubic.is_enabled ? fmin(cubic.measured, cubic.paced.rate) : cubic.measured;
        cubic.last_max = in_use;
        cubic.last_throttle_s = now_s;
        rate = in_use * 0.7;
        cubic.is_enabled = true;
    } else {
        double window = cbrt(cubic.last_max * (1 - 0.7) / 0.4);
        rate = 0.4 * pow(now_s - cubic.last_throttle_s - window, 3) + cubic.last_max;
    }
    cubic.paced.rate = fmax(0.5, fmin(rate, 2 * cubic.measured));
    return false;
}

/* ---- ours: the whole service controller, as the server runs it ---- */

static struct lull_service ours;
static struct lull_random ours_random;

static void ours_start(uint64_t seed)
{
    struct lull_service_config config;
    lull_service_config_default(&config);
    (void)lull_service_init(&ours, &config, 0);
    lull_random_init(&ours_random, seed);
}

static int64_t ours_ask(int64_t now_ms, uint64_t backlog, struct lull_service_permit *ret_permit)
{
    lull_service_set_backlog(&ours, backlog);
    return lull_service_ask(&ours, now_ms, &ours_random, ret_permit, NULL);
}

static bool ours_answer(int64_t now_ms, const struct pace_answer *answer)
{
    struct lull_service_outcome outcome = {
        .class_ = answer->is_throttled ? LULL_CLASS_THROTTLED : LULL_CLASS_SUCCESS,
        .subscription = answer->subscription,
        .retry_after_ms = answer->retry_after_ms,
    };
    return lull_service_report(&ours, now_ms, answer->permit, &outcome, &ours_random)
        .is_sender_throttled;
}

const struct pace_controller pace_controllers[] = {
    {"P2's rule", p2_start, p2_ask, p2_answer},
    {"AIMD", aimd_start, aimd_ask, aimd_answer},
    {"AWS-style CUBIC", cubic_start, cubic_ask, cubic_answer},
    {"Lull", ours_start, ours_ask, ours_answer},
};
const int pace_controller_count = sizeof pace_controllers / sizeof pace_controllers[0];

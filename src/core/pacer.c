/* pacer - see the header. SPDX-License-Identifier: MIT */
#include "lull/pacer.h"

#include "lull/duration.h"
#include "lull/error.h"

enum { ANSWERS, THROTTLED };

void lull_pacer_config_default(struct lull_pacer_config *config)
{
    *config = (struct lull_pacer_config){
        .in_flight_max = 256,
        .cut_permille = 50,
        .halt_permille = 200,
        .calm_permille = 10,
        .window_ms = LULL_SECONDS(60),
        .calm_ms = LULL_SECONDS(120),
        .give_back_ms = LULL_SECONDS(30),
        .volume_min = 20,
    };
}

int lull_pacer_init(struct lull_pacer *pacer, const struct lull_pacer_config *config,
                    int64_t mono_ms)
{
    struct lull_pacer fresh = {
        .config = *config,
        .limit = config->in_flight_max,
        .calm_since_ms = mono_ms,
        .given_ms = mono_ms,
    };
    if (config->in_flight_max < 1 || config->cut_permille > 1000 || config->halt_permille > 1000 ||
        config->calm_permille > 1000 || config->calm_ms <= 0 || config->give_back_ms <= 0 ||
        lull_window_init(&fresh.window, config->window_ms, mono_ms) != LULL_OK) {
        return LULL_ERR_RANGE;
    }
    *pacer = fresh;
    return LULL_OK;
}

enum lull_pacer_event lull_pacer_report(struct lull_pacer *pacer, int64_t mono_ms,
                                        bool is_throttled)
{
    lull_window_add(&pacer->window, mono_ms, ANSWERS, 1);
    if (!is_throttled) {
        return LULL_PACER_STEADY;
    }
    lull_window_add(&pacer->window, mono_ms, THROTTLED, 1);
    uint64_t answers = lull_window_over(&pacer->window, mono_ms, ANSWERS);
    uint64_t throttled = lull_window_over(&pacer->window, mono_ms, THROTTLED);
    if (throttled * 1000 >= answers * pacer->config.calm_permille) {
        pacer->calm_since_ms = mono_ms;
    }
    if (answers < pacer->config.volume_min ||
        throttled * 1000 <= answers * pacer->config.cut_permille) {
        return LULL_PACER_STEADY;
    }
    bool is_halt = throttled * 1000 > answers * pacer->config.halt_permille;
    uint32_t quarter = pacer->limit / 4;
    pacer->limit -= quarter > 0 ? quarter : pacer->limit > 1;
    pacer->calm_since_ms = mono_ms;
    lull_window_clear(&pacer->window, mono_ms);
    return is_halt ? LULL_PACER_HALT : LULL_PACER_CUT;
}

uint32_t lull_pacer_limit(struct lull_pacer *pacer, int64_t mono_ms)
{
    const struct lull_pacer_config *config = &pacer->config;
    uint32_t tenth = config->in_flight_max / 10 > 0 ? config->in_flight_max / 10 : 1;
    int64_t calm_from_ms = pacer->calm_since_ms + config->calm_ms;
    if (pacer->given_ms < calm_from_ms - config->give_back_ms) {
        pacer->given_ms = calm_from_ms - config->give_back_ms;
    }
    while (pacer->limit < config->in_flight_max && mono_ms >= calm_from_ms &&
           mono_ms - pacer->given_ms >= config->give_back_ms) {
        uint32_t room = config->in_flight_max - pacer->limit;
        pacer->limit += tenth < room ? tenth : room;
        pacer->given_ms += config->give_back_ms;
    }
    return pacer->limit;
}

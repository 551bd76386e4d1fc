/* answer - see the header. SPDX-License-Identifier: MIT */
#include "answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WAIT_MAX_S 1800

__attribute__((format(printf, 3, 4))) static void
add_header(struct answer *answer, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(answer->texts[answer->header_count], ANSWER_TEXT_SIZE, format, arguments);
    va_end(arguments);
    answer->names[answer->header_count++] = name;
}

static void add_date(struct answer *answer, const char *name, int64_t wall_ms)
{
    time_t second = (time_t)(wall_ms / 1000);
    struct tm parts;
    char text[ANSWER_TEXT_SIZE];
    (void)gmtime_r(&second, &parts);
    (void)strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    add_header(answer, name, "%s", text);
}

static void ask_wait(struct answer *answer, int64_t wait_ms)
{
    answer->asking = ASKED_WAIT;
    answer->asked_ms = wait_ms;
}

/* Short ones mostly; sometimes half an hour. */
static int64_t any_wait_s(struct lull_random *random)
{
    int64_t longest = any_of(random, 8) == 0 ? WAIT_MAX_S : 60;
    return lull_random_between(random, 1, longest);
}

/* When to come back, in one of the ways that services say it (A1, A2, A6, A7). */
static void add_asking(struct answer *answer, int64_t wall_ms, struct lull_random *random)
{
    int64_t wait_s = any_wait_s(random);
    int64_t second_ms = wall_ms / 1000 * 1000;
    switch (any_of(random, 9)) {
    case 0: /* an HTTP-date against the response's own Date */
        add_date(answer, "Date", wall_ms);
        add_date(answer, "Retry-After", second_ms + wait_s * 1000);
        ask_wait(answer, wait_s * 1000);
        break;
    case 1: /* an HTTP-date alone: the sender's clock decides */
        add_date(answer, "retry-after", second_ms + wait_s * 1000);
        answer->asking = ASKED_DATE;
        answer->asked_wall_ms = second_ms + wait_s * 1000;
        break;
    case 2: /* a number that can only be an epoch */
        add_date(answer, "Date", wall_ms);
        add_header(answer, "Retry-After", "%" PRId64, second_ms / 1000 + wait_s);
        ask_wait(answer, wait_s * 1000);
        break;
    case 3:
        add_header(answer, "X-RateLimit-Reset", "%" PRId64, wait_s);
        ask_wait(answer, wait_s * 1000);
        break;
    case 4:
        add_header(answer, "Retry-After-Ms", "%" PRId64, wait_s * 1000 + 7);
        ask_wait(answer, wait_s * 1000 + 7);
        break;
    case 5: /* malformed: counts as nothing */
        add_header(answer, "Retry-After", "%s",
                   any_of(random, 2) ? "1.5" : (any_of(random, 2) ? "-3" : "soon"));
        break;
    default:
        add_header(answer, "Retry-After", " %" PRId64 " ", wait_s);
        ask_wait(answer, wait_s * 1000);
        break;
    }
}

static void be_status(struct answer *answer, unsigned status)
{
    answer->outcome.kind = LULL_OUTCOME_STATUS;
    answer->outcome.status = status;
}

static void be_success(struct answer *answer, struct lull_random *random)
{
    static const unsigned statuses[] = {201, 201, 201, 200, 202, 204};
    be_status(answer, statuses[any_of(random, 6)]);
    answer->class_ = ANSWER_SUCCESS;
    answer->is_processed = true;
}

static void be_throttled(struct answer *answer, bool is_push, int64_t wall_ms,
                         struct lull_random *random)
{
    be_status(answer, 429);
    answer->class_ = ANSWER_THROTTLED;
    if (is_push && any_of(random, 6) == 0) { /* an auth failure in disguise (C8) */
        answer->class_ = ANSWER_AUTH_SUSPECT;
        if (any_of(random, 2)) {
            add_header(answer, "WWW-Authenticate", "vapid");
            add_header(answer, "Retry-After", "20");
            ask_wait(answer, 20000);
        } else {
            add_header(answer, "Retry-After", "0");
            ask_wait(answer, 0);
        }
    } else if (any_of(random, 4) > 0) {
        add_asking(answer, wall_ms, random);
    }
}

static void be_retryable(struct answer *answer, int64_t wall_ms, struct lull_random *random)
{
    static const unsigned statuses[] = {500, 502, 504, 408, 503, 503, 599};
    be_status(answer, statuses[any_of(random, 7)]);
    answer->class_ = ANSWER_RETRYABLE;
    if (answer->outcome.status == 503 && any_of(random, 2)) {
        add_asking(answer, wall_ms, random);
    }
}

static void be_fatal(struct answer *answer, struct lull_random *random)
{
    static const struct {
        unsigned status;
        enum lull_reason reason;
    } rows[] = {
        {400, LULL_REASON_REJECTED}, {401, LULL_REASON_AUTH},
        {403, LULL_REASON_AUTH},     {404, LULL_REASON_GONE},
        {410, LULL_REASON_GONE},     {413, LULL_REASON_PAYLOAD_TOO_LARGE},
        {405, LULL_REASON_REJECTED}, {301, LULL_REASON_REJECTED},
        {501, LULL_REASON_REJECTED}, {422, LULL_REASON_REJECTED},
    };
    uint32_t row = any_of(random, sizeof rows / sizeof rows[0]);
    be_status(answer, rows[row].status);
    answer->class_ = ANSWER_FATAL;
    answer->fatal_reason = rows[row].reason;
}

static void be_transport(struct answer *answer, const struct plan *plan, bool is_lossy,
                         struct lull_random *random)
{
    enum lull_transport transport =
        (enum lull_transport)lull_random_between(random, 1, LULL_TRANSPORTS - 1);
    if (is_lossy && any_of(random, 3)) {
        static const enum lull_transport lossy[] = {LULL_TRANSPORT_RESET, LULL_TRANSPORT_TIMEOUT,
                                                    LULL_TRANSPORT_GOAWAY,
                                                    LULL_TRANSPORT_REFUSED_STREAM};
        transport = lossy[any_of(random, 4)];
    }
    answer->outcome.kind = LULL_OUTCOME_TRANSPORT;
    answer->outcome.transport = transport;
    answer->class_ = ANSWER_RETRYABLE;
    switch (transport) {
    case LULL_TRANSPORT_TIMEOUT: /* hung */
        answer->takes_ms = plan->timeout_ms;
        answer->is_processed = any_of(random, 2) == 0;
        break;
    case LULL_TRANSPORT_RESET:
    case LULL_TRANSPORT_PROTOCOL:
        answer->is_processed = any_of(random, 2) == 0;
        break;
    case LULL_TRANSPORT_TLS:
    case LULL_TRANSPORT_DNS_NOT_FOUND:
    case LULL_TRANSPORT_MALFORMED_URL:
    case LULL_TRANSPORT_FORBIDDEN:
        answer->class_ = ANSWER_FATAL;
        answer->fatal_reason = LULL_REASON_INVALID_TARGET;
        break;
    case LULL_TRANSPORT_CANCELLED:
        answer->is_processed = any_of(random, 2) == 0;
        answer->class_ = ANSWER_FATAL;
        answer->fatal_reason = LULL_REASON_CANCELLED;
        break;
    default:
        break;
    }
}

/* Out of a hundred: success, 429, other statuses worth a retry, fatal ones; the rest is transport.
 */
static const uint32_t moods[MOODS][4] = {
    [MOOD_GOOD] = {98, 0, 1, 0}, [MOOD_FLAKY] = {50, 10, 20, 5}, [MOOD_THROTTLING] = {40, 55, 3, 0},
    [MOOD_DOWN] = {2, 3, 65, 0}, [MOOD_LOSSY] = {35, 0, 5, 0},   [MOOD_STRICT] = {50, 5, 5, 35},
};

void answer_draw(struct answer *answer, const struct plan *plan, enum mood mood, bool is_push,
                 int64_t wall_ms, struct lull_random *random)
{
    memset(answer, 0, sizeof *answer);
    bool is_slow = any_of(random, 20) == 0;
    answer->takes_ms = lull_random_between(random, 1, is_slow ? plan->timeout_ms : 400);
    const uint32_t *shares = moods[mood];
    uint32_t draw = any_of(random, 100);
    if (draw < shares[0]) {
        be_success(answer, random);
    } else if (draw < shares[0] + shares[1]) {
        be_throttled(answer, is_push, wall_ms, random);
    } else if (draw < shares[0] + shares[1] + shares[2]) {
        be_retryable(answer, wall_ms, random);
    } else if (draw < shares[0] + shares[1] + shares[2] + shares[3]) {
        be_fatal(answer, random);
    } else {
        be_transport(answer, plan, mood == MOOD_LOSSY, random);
    }
}

void answer_well(struct answer *answer, struct lull_random *random)
{
    memset(answer, 0, sizeof *answer);
    be_success(answer, random);
    answer->takes_ms = lull_random_between(random, 1, 100);
}

const struct lull_outcome *answer_outcome(struct answer *answer)
{
    for (uint32_t i = 0; i < answer->header_count; i++) {
        answer->headers[i] = (struct lull_header){answer->names[i], strlen(answer->names[i]),
                                                  answer->texts[i], strlen(answer->texts[i])};
    }
    answer->outcome.headers = answer->headers;
    answer->outcome.header_count = answer->header_count;
    return &answer->outcome;
}

int64_t answer_asked_ms(const struct answer *answer, int64_t now_ms)
{
    switch (answer->asking) {
    case ASKED_WAIT:
        return answer->asked_ms;
    case ASKED_DATE:
        return answer->asked_wall_ms > now_ms ? answer->asked_wall_ms - now_ms : 0;
    case ASKED_NOTHING:
    default:
        return -1;
    }
}

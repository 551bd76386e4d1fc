/* Why a message waits: one answer for each cause and gate, and of two waits the later (Q10).
 * SPDX-License-Identifier: MIT */
#include "suite.h"

#include "history.h"
#include "lull/duration.h"
#include "why_waiting.h"

#define NOW INT64_C(1772357460000) /* 2026-03-01T09:31:00Z */

static struct message *message_with(enum message_cause cause, int64_t due_ms, uint16_t status)
{
    struct attempt attempt = {.number = 3,
                              .started_ms = NOW - 1000,
                              .status = status,
                              .transport = status ? LULL_TRANSPORT_NONE : LULL_TRANSPORT_TIMEOUT,
                              .retry_after_ms = -1};
    char history[HISTORY_SIZE_MAX];
    size_t length = history_add(NULL, 0, &attempt, history);
    struct message *message = message_new(0, 0, length);
    assert_non_null(message);
    assert_true(message_set_history(message, history, length));
    message->cause = (uint8_t)cause;
    message->due_ms = due_ms;
    return message;
}

struct why_case {
    const char *name;
    enum message_cause cause;
    int64_t due_ms;
    uint16_t status;
    enum gate_stop stop;
    int64_t until_ms;
    const char *told; /* the cause */
    int64_t told_ms;
    const char *words; /* of the text */
};

static const struct why_case cases[] = {
    {"delayed", MESSAGE_CAUSE_DELAYED, NOW + 5000, 0, GATE_OPEN, 0, "delayed", NOW + 5000,
     "at 2026-03-01T09:31:05.000Z"},
    {"backoff", MESSAGE_CAUSE_BACKOFF, NOW + 5000, 503, GATE_OPEN, 0, "backoff", NOW + 5000,
     "attempt 3 was answered 503"},
    {"backoff after no answer", MESSAGE_CAUSE_BACKOFF, NOW + 5000, 0, GATE_OPEN, 0, "backoff",
     NOW + 5000, "attempt 3 failed (timeout)"},
    {"retry after", MESSAGE_CAUSE_RETRY_AFTER, NOW + 5000, 429, GATE_RATE, NOW + 1, "retry_after",
     NOW + 5000, "fcm asked for a wait"},
    {"held", MESSAGE_CAUSE_HELD, NOW + 5000, 429, GATE_OPEN, 0, "held", NOW + 5000,
     "throttles its subscription"},
    {"paused for longer", MESSAGE_CAUSE_BACKOFF, NOW + 5000, 503, GATE_PAUSED, NOW + 60000,
     "service_paused", NOW + 60000,
     "All that goes to fcm is paused until 2026-03-01T09:32:00.000Z"},
    {"paused for less", MESSAGE_CAUSE_BACKOFF, NOW + 5000, 503, GATE_PAUSED, NOW + 1000, "backoff",
     NOW + 5000, "attempt 3"},
    {"paused", MESSAGE_CAUSE_NEW, NOW - 1, 0, GATE_PAUSED, NOW + 60000, "service_paused",
     NOW + 60000, "paused"},
    {"a pause that is over", MESSAGE_CAUSE_NEW, NOW - 1, 0, GATE_PAUSED, NOW - 1, "new", NOW - 1,
     "It is due"},
    {"rate", MESSAGE_CAUSE_NEW, NOW - 1, 0, GATE_RATE, NOW + 20, "service_rate", NOW + 20,
     "as fast as it may"},
    {"full", MESSAGE_CAUSE_NEW, NOW - 1, 0, GATE_FULL, LULL_NEVER, "service_full", LULL_NEVER,
     "as may be at once"},
    {"its turn", MESSAGE_CAUSE_NEW, NOW - 1, 0, GATE_OPEN, 0, "new", NOW - 1, "It is due"},
    {"its turn after a wait", MESSAGE_CAUSE_BACKOFF, NOW - 1, 503, GATE_OPEN, 0, "new", NOW - 1,
     "It is due"},
    {"returned", MESSAGE_CAUSE_RETURNED, NOW, 0, GATE_OPEN, 0, "returned", NOW, "was put back"},
};

static void test_each_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct why_case *c = &cases[i];
        struct message *message = message_with(c->cause, c->due_ms, c->status);
        struct job_gate gate = {.service = "fcm", .stop = c->stop, .until_ms = c->until_ms};
        struct why_waiting why;
        why_waiting(message, &gate, NOW, &why);
        if (strcmp(why.cause, c->told) != 0 || why.until_ms != c->told_ms ||
            !strstr(why.text, c->words)) {
            fail_msg("%s: %s, %lld: %s", c->name, why.cause, (long long)why.until_ms, why.text);
        }
        message_free(message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_cause)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* why_waiting - see the header. SPDX-License-Identifier: MIT */
#include "why_waiting.h"

#include <inttypes.h>
#include <stdio.h>

#include "history.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "time_text.h"

static void tell(struct why_waiting *why, const char *cause, int64_t until_ms)
{
    why->cause = cause;
    why->until_ms = until_ms;
}

/* What its last attempt came to, as "status 503", or the transport's word. */
static void last_failure(const struct message *message, char *text, size_t size)
{
    const struct message_bytes *history = &message->history;
    size_t count = history_count(history->data, history->length);
    struct attempt attempt;
    if (count == 0 || !history_get(history->data, history->length, count - 1, &attempt)) {
        (void)snprintf(text, size, "its last attempt failed");
    } else if (attempt.status) {
        (void)snprintf(text, size, "attempt %" PRIu32 " was answered %u", attempt.number,
                       attempt.status);
    } else {
        (void)snprintf(text, size, "attempt %" PRIu32 " failed (%s)", attempt.number,
                       lull_transport_to_string((enum lull_transport)attempt.transport));
    }
}

/* It is not due before due_ms. */
static void not_due(const struct message *message, const char *service, struct why_waiting *why)
{
    char until[TIME_TEXT_SIZE];
    char failure[64];
    enum message_cause cause = (enum message_cause)message->cause;
    tell(why, message_cause_to_string(cause), message->due_ms);
    time_text_write(message->due_ms, until);
    last_failure(message, failure, sizeof failure);
    switch (cause) {
    case MESSAGE_CAUSE_DELAYED:
        (void)snprintf(why->text, sizeof why->text, "Its sender asked for it to go at %s.", until);
        break;
    case MESSAGE_CAUSE_BACKOFF:
        (void)snprintf(why->text, sizeof why->text,
                       "It waits before it is tried again: %s. Next attempt at %s.", failure,
                       until);
        break;
    case MESSAGE_CAUSE_RETRY_AFTER:
        (void)snprintf(why->text, sizeof why->text,
                       "%s asked for a wait (Retry-After): %s. Next attempt not before %s.",
                       service, failure, until);
        break;
    case MESSAGE_CAUSE_HELD:
        (void)snprintf(why->text, sizeof why->text,
                       "%s throttles its subscription: nothing goes to it before %s.", service,
                       until);
        break;
    default:
        (void)snprintf(why->text, sizeof why->text, "It is due at %s.", until);
        break;
    }
}

/* It is due, and nothing of its service's gate holds it. */
static void is_due(const struct message *message, const char *service, struct why_waiting *why)
{
    enum message_cause cause = (enum message_cause)message->cause;
    if (cause == MESSAGE_CAUSE_RETURNED) {
        tell(why, message_cause_to_string(cause), message->due_ms);
        (void)snprintf(
            why->text, sizeof why->text,
            "Whoever had it did not finish, and it was put back: it goes as soon as those "
            "before it for %s have gone.",
            service);
        return;
    }
    tell(why, message_cause_to_string(MESSAGE_CAUSE_NEW), message->due_ms);
    (void)snprintf(why->text, sizeof why->text,
                   "It is due, and goes as soon as those before it for %s have gone.", service);
}

void why_waiting(const struct message *message, const struct job_gate *gate, int64_t now_ms,
                 struct why_waiting *ret_why)
{
    const char *service = gate->service[0] ? gate->service : "its service";
    bool is_paused = gate->stop == GATE_PAUSED && gate->until_ms > now_ms;
    if (is_paused && gate->until_ms > message->due_ms) {
        char until[TIME_TEXT_SIZE];
        time_text_write(gate->until_ms, until);
        tell(ret_why, "service_paused", gate->until_ms);
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "All that goes to %s is paused until %s.", service, until);
    } else if (message->due_ms > now_ms) {
        not_due(message, service, ret_why);
    } else if (gate->stop == GATE_RATE) {
        tell(ret_why, "service_rate", gate->until_ms);
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "%s is sent to as fast as it may be, and others are before it.", service);
    } else if (gate->stop == GATE_FULL) {
        tell(ret_why, "service_full", LULL_NEVER);
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "As many messages are under way to %s as may be at once.", service);
    } else {
        is_due(message, service, ret_why);
    }
}

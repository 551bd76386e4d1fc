/* messages_print - see the header. SPDX-License-Identifier: MIT */
#include "messages_print.h"

#include <inttypes.h>
#include <string.h>

#include "api_client.h"
#include "cli.h"

const char *messages_format_time(const char *time, char buffer[MESSAGES_TIME_SIZE])
{
    size_t length = time ? strcspn(time, ".Z") : 0;
    if (length == 0 || length >= MESSAGES_TIME_SIZE) {
        return "-";
    }
    memcpy(buffer, time, length);
    buffer[length] = '\0';
    char *between = strchr(buffer, 'T');
    if (between) {
        *between = ' ';
    }
    return buffer;
}

/* ---- one ---- */

static void print_field(FILE *out, const char *name, const char *value)
{
    if (value) {
        fprintf(out, "  %-15s %s\n", name, value);
    }
}

static void print_time(FILE *out, const char *name, json_t *message, const char *member)
{
    char buffer[MESSAGES_TIME_SIZE];
    const char *time = api_text(message, member, NULL);
    if (time) {
        fprintf(out, "  %-15s %s UTC\n", name, messages_format_time(time, buffer));
    }
}

/* How it ended: "gone (HTTP 410)". */
static void print_reason(FILE *out, json_t *message)
{
    const char *reason = api_text(message, "reason", NULL);
    int64_t status = api_number(message, "status", 0);
    if (reason && status > 0) {
        fprintf(out, "  %-15s %s (HTTP %" PRId64 ")\n", "reason", reason, status);
    } else {
        print_field(out, "reason", reason);
    }
}

/* "HTTP 503", or the failure of the transport. */
static const char *format_answer(json_t *attempt, char *buffer, size_t size)
{
    int64_t status = api_number(attempt, "status", 0);
    if (status == 0) {
        return api_text(attempt, "transport", "-");
    }
    (void)snprintf(buffer, size, "HTTP %" PRId64, status);
    return buffer;
}

static void print_attempt(FILE *out, json_t *attempt)
{
    char time[MESSAGES_TIME_SIZE];
    char took[CLI_DURATION_SIZE];
    char asked[CLI_DURATION_SIZE];
    char then[CLI_DURATION_SIZE];
    char answer[32];
    int64_t retry_after_ms = api_number(attempt, "retry_after_ms", -1);
    int64_t delay_ms = api_number(attempt, "delay_ms", 0);
    fprintf(out, "  %4" PRId64 "  %-19s  %9s  %-16s  %-9s  %-24s  %-10s  %s\n",
            api_number(attempt, "number", 0),
            messages_format_time(api_text(attempt, "at", NULL), time),
            cli_format_duration(api_number(attempt, "duration_ms", 0), took),
            format_answer(attempt, answer, sizeof answer), api_text(attempt, "effect", "-"),
            api_text(attempt, "reason", "-"),
            retry_after_ms < 0 ? "-" : cli_format_duration(retry_after_ms, asked),
            delay_ms <= 0 ? "-" : cli_format_duration(delay_ms, then));
}

static void print_attempts(FILE *out, json_t *message)
{
    json_t *attempts = json_object_get(message, "attempts");
    int64_t made = api_number(message, "attempts_made", 0);
    size_t index = 0;
    json_t *attempt = NULL;
    if (json_array_size(attempts) == 0) {
        if (made > 0) {
            fprintf(out, "\nAttempts: %" PRId64 "\n", made); /* how they went was not kept */
        } else {
            fputs("\nNo attempt yet.\n", out);
        }
        return;
    }
    if (made > (int64_t)json_array_size(attempts)) {
        fprintf(out, "\n%" PRId64 " attempts, of which the last %zu are kept:\n", made,
                json_array_size(attempts));
    } else {
        fputc('\n', out);
    }
    fprintf(out, "  %4s  %-19s  %9s  %-16s  %-9s  %-24s  %-10s  %s\n", "#", "AT (UTC)", "TOOK",
            "ANSWER", "EFFECT", "REASON", "ASKED FOR", "WAIT");
    json_array_foreach(attempts, index, attempt)
    {
        print_attempt(out, attempt);
    }
}

/* NULL: it does not wait. */
static json_t *waiting_for(json_t *message)
{
    return strcmp(api_text(message, "state", ""), "waiting") == 0
               ? json_object_get(message, "waiting_for")
               : NULL;
}

void messages_print_one(FILE *out, json_t *message)
{
    json_t *waiting = waiting_for(message);
    fprintf(out, "%s: %s\n", api_text(message, "id", "-"), api_text(message, "state", "-"));
    if (waiting) {
        fprintf(out, "  %s\n",
                api_text(waiting, "text", "it waits, and the server does not say why"));
    }
    fputc('\n', out);
    print_field(out, "kind", api_text(message, "kind", NULL));
    print_field(out, "service", api_text(message, "service", NULL));
    print_field(out, "endpoint", api_text(message, "endpoint_hash", NULL));
    print_field(out, "urgency", api_text(message, "urgency", NULL));
    print_field(out, "topic", api_text(message, "topic", NULL));
    print_field(out, "policy", api_text(message, "policy", NULL));
    print_field(out, "correlation id", api_text(message, "correlation_id", NULL));
    print_time(out, "accepted", message, "accepted_at");
    print_time(out, "due", message, "due_at");
    print_time(out, "expires", message, "expires_at");
    print_time(out, "delivered", message, "delivered_at");
    print_time(out, "died", message, "died_at");
    print_reason(out, message);
    print_field(out, "replaced by", api_text(message, "replaced_by", NULL));
    print_attempts(out, message);
}

/* ---- many ---- */

void messages_print_head(FILE *out)
{
    fprintf(out, "%-24s  %-9s  %-7s  %-24s  %-8s  %5s  %-19s  %s\n", "ID", "STATE", "KIND",
            "SERVICE", "URGENCY", "TRIED", "ACCEPTED (UTC)", "WHY");
}

/* Why it waits or died, in a few words: the sentence is for `show`. */
static const char *why(json_t *message)
{
    json_t *waiting = waiting_for(message);
    return waiting ? api_text(waiting, "cause", "-") : api_text(message, "reason", "-");
}

void messages_print_line(FILE *out, json_t *message)
{
    char time[MESSAGES_TIME_SIZE];
    fprintf(out, "%-24s  %-9s  %-7s  %-24s  %-8s  %5" PRId64 "  %-19s  %s\n",
            api_text(message, "id", "-"), api_text(message, "state", "-"),
            api_text(message, "kind", "-"), api_text(message, "service", "-"),
            api_text(message, "urgency", "-"), api_number(message, "attempts_made", 0),
            messages_format_time(api_text(message, "accepted_at", NULL), time), why(message));
}

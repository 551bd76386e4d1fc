/* mock_log - see the header. SPDX-License-Identifier: MIT */
#include "mock_log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lull/duration.h"
#include "lull/os.h"

/* Takes the object over. */
static bool write_line(FILE *log, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    bool is_good = text && fprintf(log, "%s\n", text) > 0 && fflush(log) == 0;
    free(text);
    json_decref(line);
    return is_good;
}

/* null for NULL, and for what is not UTF-8: a header may hold any byte. */
static json_t *text_or_null(const char *text)
{
    json_t *json = text ? json_string(text) : NULL;
    return json ? json : json_null();
}

static json_t *attempt_or_null(const char *text)
{
    uint64_t number = 0;
    return text && cli_parse_number(text, 0, INT64_MAX, &number) ? json_integer((json_int_t)number)
                                                                 : text_or_null(text);
}

static json_t *status_of(const struct mock_log_push *line)
{
    return line->action == MOCK_HONEST || line->action == MOCK_STATUS
               ? json_integer(line->status)
               : json_string(mock_action_to_string(line->action));
}

static json_t *problems_of(const struct mock_finding *finding)
{
    json_t *words = json_array();
    for (unsigned i = 0; i < MOCK_PROBLEMS; i++) {
        if (finding->has[i]) {
            (void)json_array_append_new(words,
                                        json_string(mock_problem_to_string((enum mock_problem)i)));
        }
    }
    return words;
}

/* The text as text if it is that, else as base64url under another name. */
static void set_text(json_t *line, const struct mock_finding *finding)
{
    char encoded[LULL_BASE64URL_SIZE(LULL_PUSH_BODY_MAX)];
    json_t *text = finding->has_text
                       ? json_stringn((const char *)finding->text, finding->text_length)
                       : json_null();
    if (text) {
        (void)json_object_set_new(line, "text", text);
        return;
    }
    (void)lull_base64url_encode(finding->text, finding->text_length, encoded);
    (void)json_object_set_new(line, "text_base64url", json_string(encoded));
}

bool mock_log_push(FILE *log, const struct mock_log_push *line)
{
    const struct mock_header *wait = line->wait;
    if (!log) {
        return true;
    }
    json_t *json = json_pack(
        "{s:s, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:I}", "event",
        "push", "time_ms", (json_int_t)line->time_ms, "mono_ms", (json_int_t)line->mono_ms,
        "subscription", text_or_null(line->subscription), "n", (json_int_t)line->count, "attempt",
        attempt_or_null(line->attempt), "status", status_of(line), "retry_after",
        text_or_null(wait->name ? wait->value : NULL), "not_before_ms",
        wait->not_before_ms == LULL_NEVER ? json_null() : json_integer(wait->not_before_ms),
        "early", line->is_early, "problems", problems_of(line->finding), "ttl",
        line->finding->ttl_s < 0 ? json_null() : json_integer(line->finding->ttl_s), "urgency",
        text_or_null(line->push->urgency), "topic", text_or_null(line->push->topic), "bytes",
        (json_int_t)line->push->length);
    if (json) {
        set_text(json, line->finding);
    }
    return write_line(log, json);
}

bool mock_log_listening(FILE *log, const char *url, uint64_t seed)
{
    return write_line(log, json_pack("{s:s, s:I, s:s, s:I}", "event", "listening", "time_ms",
                                     (json_int_t)lull_os_now_ms(), "url", url, "seed",
                                     (json_int_t)seed));
}

bool mock_log_event(FILE *log, const char *event, const char *name, const char *value)
{
    return !log || write_line(log, json_pack("{s:s, s:I, s:s}", "event", event, "time_ms",
                                             (json_int_t)lull_os_now_ms(), name, value));
}

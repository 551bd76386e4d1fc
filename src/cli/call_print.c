/* call_print - see the header. SPDX-License-Identifier: MIT */
#include "call_print.h"

#include <inttypes.h>

#include "cli.h"
#include "explain_print.h"
#include "lull/duration.h"

static void print_place(FILE *out, struct call_place place)
{
    fprintf(out, "lull %s: ", place.command);
    if (place.count > 1) {
        fprintf(out, "URL %zu: ", place.index);
    }
}

/* "HTTP 503" or "no answer: reset" */
static void print_what(FILE *out, const struct lull_attempt *attempt)
{
    if (attempt->transport != LULL_TRANSPORT_NONE) {
        fprintf(out, "%s: %s", attempt->status ? "the body broke off" : "no answer",
                lull_transport_to_string(attempt->transport));
    } else {
        fprintf(out, "HTTP %u", attempt->status);
    }
}

void call_print_retry(FILE *out, struct call_place place, const struct lull_attempt *attempt)
{
    char text[CLI_DURATION_SIZE];
    print_place(out, place);
    fprintf(out, "attempt %" PRIu32 ": ", attempt->number);
    print_what(out, attempt);
    if (attempt->retry_after_ms >= 0) {
        fprintf(out, ", asked to wait %s", cli_format_duration(attempt->retry_after_ms, text));
    }
    fprintf(out, "; again in %s", cli_format_duration(attempt->delay_ms, text));
    for (unsigned i = 0; i < LULL_SIDE_EFFECTS; i++) {
        if (attempt->side_effects & (1U << i) &
            (LULL_DO_WARN_RETRY_AFTER_MALFORMED | LULL_DO_WARN_RETRY_AFTER_MISSING)) {
            fprintf(out, " (%s)", lull_side_effect_to_string((enum lull_side_effect)(1U << i)));
        }
    }
    fputc('\n', out);
}

void call_print_failure(FILE *out, struct call_place place, const struct lull_result *result)
{
    const struct lull_attempt *last =
        result->attempt_count > 0 ? &result->attempts[result->attempt_count - 1] : NULL;
    print_place(out, place);
    if (result->verdict == LULL_VERDICT_DELIVERED && !result->is_body_complete) {
        fprintf(out, "HTTP %u, but the body broke off (%s)\n", result->status,
                last && last->detail ? last->detail : curl_easy_strerror(result->code));
        return;
    }
    fprintf(out, "%s", lull_reason_to_string(result->reason));
    if (last) {
        fprintf(out, " after %" PRIu32 " attempt%s: ", last->number, last->number == 1 ? "" : "s");
        print_what(out, last);
        if (last->transport != LULL_TRANSPORT_NONE && last->detail) {
            fprintf(out, " (%s)", last->detail);
        }
    } else if (result->code != CURLE_OK) {
        fprintf(out, " before the first attempt (%s)", curl_easy_strerror(result->code));
    }
    fputc('\n', out);
}

void call_print_decision(FILE *out, struct call_place place, const struct lull_attempt *attempt,
                         const struct lull_verdict *verdict, const struct lull_trace *trace)
{
    char text[CLI_DURATION_SIZE];
    print_place(out, place);
    if (attempt) {
        fprintf(out, "after attempt %" PRIu32 "\n", attempt->number);
    } else {
        fputs("before the attempt\n", out);
    }
    for (size_t i = 0; i < trace->count; i++) {
        explain_print_step(out, &trace->steps[i]);
    }
    fprintf(out, "  => %s, %s", lull_verdict_kind_to_string(verdict->kind),
            lull_reason_to_string(verdict->reason));
    if (verdict->kind == LULL_VERDICT_RETRY) {
        fprintf(out, ", in %s", cli_format_duration(verdict->delay_ms, text));
    }
    fputc('\n', out);
}

static const char *boolean(bool is_true)
{
    return is_true ? "true" : "false";
}

static void print_attempt(FILE *out, const struct lull_attempt *attempt)
{
    fprintf(out, "{\"number\":%" PRIu32 ",\"hedge\":%s,\"abandoned\":%s", attempt->number,
            boolean(attempt->is_hedge), boolean(attempt->is_abandoned));
    fprintf(out, ",\"started_ms\":%" PRId64 ",\"duration_ms\":%" PRId64, attempt->started_ms,
            attempt->duration_ms);
    fprintf(out, ",\"status\":%u,\"transport\":\"%s\",\"class\":\"%s\",\"effect\":\"%s\"",
            attempt->status, lull_transport_to_string(attempt->transport),
            lull_class_to_string(attempt->class_), lull_effect_to_string(attempt->effect));
    fprintf(out, ",\"reason\":\"%s\"", lull_reason_to_string(attempt->reason));
    if (attempt->retry_after_ms >= 0) {
        fprintf(out, ",\"retry_after_ms\":%" PRId64, attempt->retry_after_ms);
    } else {
        fputs(",\"retry_after_ms\":null", out);
    }
    fprintf(out, ",\"delay_ms\":%" PRId64 ",\"warnings\":[", attempt->delay_ms);
    const char *comma = "";
    for (unsigned i = 0; i < LULL_SIDE_EFFECTS; i++) {
        if (attempt->side_effects & (1U << i)) {
            fprintf(out, "%s\"%s\"", comma,
                    lull_side_effect_to_string((enum lull_side_effect)(1U << i)));
            comma = ",";
        }
    }
    fprintf(out, "],\"curl_code\":%d", (int)attempt->code);
    if (attempt->detail) {
        fprintf(out, ",\"detail\":\"%s\"", attempt->detail);
    }
    if (attempt->span_id) {
        fprintf(out, ",\"span_id\":\"%016" PRIx64 "\"", attempt->span_id);
    }
    fputc('}', out);
}

void call_print_members(FILE *out, const struct lull_result *result)
{
    fprintf(out, "\"verdict\":\"%s\",\"reason\":\"%s\",\"status\":%u,\"attempts\":[",
            lull_verdict_kind_to_string(result->verdict), lull_reason_to_string(result->reason),
            result->status);
    for (size_t i = 0; i < result->attempt_count; i++) {
        fputs(i > 0 ? "," : "", out);
        print_attempt(out, &result->attempts[i]);
    }
    fprintf(out, "],\"duration_ms\":%" PRId64, result->duration_ms);
}

void call_print_json(FILE *out, struct call_place place, const struct lull_result *result,
                     int64_t body_bytes, int exit_code)
{
    fprintf(out, "{\"index\":%zu,", place.index);
    call_print_members(out, result);
    fprintf(out, ",\"body_bytes\":%" PRId64 ",\"body_complete\":%s", body_bytes,
            boolean(result->is_body_complete));
    if (result->trace_id[0] | result->trace_id[1]) {
        fprintf(out, ",\"trace_id\":\"%016" PRIx64 "%016" PRIx64 "\"", result->trace_id[0],
                result->trace_id[1]);
    }
    fprintf(out, ",\"exit\":%d}\n", exit_code);
}

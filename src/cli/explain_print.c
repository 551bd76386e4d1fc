/* explain_print - see the header. SPDX-License-Identifier: MIT */
#include "explain_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "lull/duration.h"

void explain_print_step(FILE *out, const struct lull_step *step)
{
    char duration[CLI_DURATION_SIZE];
    char answer[128];
    bool is_count = step->question == LULL_ASK_OUTCOME || step->question == LULL_ASK_ATTEMPTS ||
                    step->question == LULL_ASK_LAYER;
    if (step->value < 0) {
        snprintf(answer, sizeof answer, "%s", step->answer);
    } else if (is_count) {
        snprintf(answer, sizeof answer, "%s: %" PRId64, step->answer, step->value);
    } else {
        snprintf(answer, sizeof answer, "%s: %s", step->answer,
                 cli_format_duration(step->value, duration));
    }
    fprintf(out, "  %-36s %-52s %s\n", lull_question_to_string(step->question), answer, step->rule);
}

static void print_due(int64_t due_ms)
{
    time_t seconds = (time_t)(due_ms / 1000);
    struct tm tm;
    char text[32];
    if (gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm) > 0) {
        printf(", at %s.%03d UTC", text, (int)(due_ms % 1000));
    }
}

static const char *verdict_sentence(enum lull_verdict_kind kind)
{
    static const char *const sentences[LULL_VERDICTS] = {
        [LULL_VERDICT_SEND] = "send it now",
        [LULL_VERDICT_WAIT] = "wait: the queue keeps it, and no attempt is burnt",
        [LULL_VERDICT_DELIVERED] = "delivered",
        [LULL_VERDICT_RETRY] = "retry",
        [LULL_VERDICT_DEAD] = "dead letter",
        [LULL_VERDICT_GIVE_UP] = "give up, and tell the caller",
    };
    return sentences[kind];
}

void explain_print_text(const struct explanation *explanation)
{
    const struct lull_verdict *verdict = &explanation->verdict;
    char first[CLI_DURATION_SIZE];
    char second[CLI_DURATION_SIZE];
    printf("Policy %s, %s, attempt %" PRIu32 ", service %s\n\n", explanation->policy->name,
           lull_kind_to_string(explanation->facts.kind), explanation->facts.attempt,
           lull_vendor_lookup(explanation->facts.vendor)->name);
    for (size_t i = 0; i < explanation->trace.count; i++) {
        explain_print_step(stdout, &explanation->trace.steps[i]);
    }
    printf("\nVerdict: %s", verdict_sentence(verdict->kind));
    if (verdict->kind == LULL_VERDICT_RETRY) {
        printf(" in %s", cli_format_duration(verdict->delay_ms, first));
        print_due(explanation->due_ms);
        if (verdict->delay_min_ms < verdict->delay_max_ms) {
            printf("\n         drawn between %s and %s (seed %" PRIu64 ")",
                   cli_format_duration(verdict->delay_min_ms, first),
                   cli_format_duration(verdict->delay_max_ms, second), explanation->seed);
        }
    }
    printf("\nReason:  %s\n", lull_reason_to_string(verdict->reason));
    if (verdict->kind == LULL_VERDICT_RETRY || verdict->scope != LULL_SCOPE_MESSAGE) {
        printf("Scope:   %s\n", lull_scope_to_string(verdict->scope));
    }
    if (verdict->side_effects) {
        printf("Also:   ");
        for (unsigned i = 0; i < LULL_SIDE_EFFECTS; i++) {
            if (verdict->side_effects & (1U << i)) {
                printf(" %s", lull_side_effect_to_string((enum lull_side_effect)(1U << i)));
            }
        }
        printf("\n");
    }
}

static void print_number_or_null(const char *name, bool is_set, int64_t value)
{
    if (is_set) {
        printf(",\"%s\":%" PRId64, name, value);
    } else {
        printf(",\"%s\":null", name);
    }
}

static void print_effects(unsigned side_effects)
{
    const char *comma = "";
    printf(",\"effects\":[");
    for (unsigned i = 0; i < LULL_SIDE_EFFECTS; i++) {
        if (side_effects & (1U << i)) {
            printf("%s\"%s\"", comma, lull_side_effect_to_string((enum lull_side_effect)(1U << i)));
            comma = ",";
        }
    }
    printf("]");
}

/* Each rule once, in the order in which they spoke. */
static void print_rules(const struct lull_trace *trace)
{
    printf(",\"rules\":[");
    for (size_t i = 0; i < trace->count; i++) {
        bool is_first = true;
        for (size_t j = 0; j < i; j++) {
            is_first = is_first && strcmp(trace->steps[i].rule, trace->steps[j].rule) != 0;
        }
        if (is_first) {
            printf("%s\"%s\"", i > 0 ? "," : "", trace->steps[i].rule);
        }
    }
    printf("]");
}

void explain_print_json(const struct explanation *explanation)
{
    const struct lull_verdict *verdict = &explanation->verdict;
    printf("{\"verdict\":\"%s\"", lull_verdict_kind_to_string(verdict->kind));
    printf(",\"reason\":\"%s\"", lull_reason_to_string(verdict->reason));
    printf(",\"class\":\"%s\"", lull_class_to_string(verdict->class_));
    printf(",\"delay_min_ms\":%" PRId64, verdict->delay_min_ms);
    printf(",\"delay_max_ms\":%" PRId64, verdict->delay_max_ms);
    printf(",\"delay_ms\":%" PRId64, verdict->delay_ms);
    print_number_or_null("retry_after_ms", verdict->retry_after.state == LULL_RETRY_AFTER_OK,
                         verdict->retry_after.wait_ms);
    printf(",\"retry_after_state\":\"%s\"",
           lull_retry_after_state_to_string(verdict->retry_after.state));
    printf(",\"scope\":\"%s\"", lull_scope_to_string(verdict->scope));
    print_effects(verdict->side_effects);
    print_rules(&explanation->trace);
    printf(",\"hold_ms\":%" PRId64, verdict->hold_ms);
    printf(",\"effect\":\"%s\"", lull_effect_to_string(verdict->effect));
    print_number_or_null("remaining_ms", verdict->remaining_ms != LULL_NEVER,
                         verdict->remaining_ms);
    printf(",\"burns_attempt\":%s", verdict->burns_attempt ? "true" : "false");
    printf(",\"policy\":\"%s\"", explanation->policy->name);
    printf(",\"kind\":\"%s\"", lull_kind_to_string(explanation->facts.kind));
    printf(",\"service\":\"%s\"", lull_vendor_lookup(explanation->facts.vendor)->name);
    printf(",\"attempt\":%" PRIu32, explanation->facts.attempt);
    printf(",\"seed\":%" PRIu64 "}\n", explanation->seed);
}

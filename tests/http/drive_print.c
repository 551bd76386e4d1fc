/* drive_print - what transport_drive tells, as lines of JSON. Times count from its start. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "drive.h"
#include "lull/duration.h"
#include "lull/os.h"

int64_t rss_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*s %ld", &pages) != 1) {
        pages = 0;
    }
    if (file) {
        (void)fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static const char *const protocol_words[] = {"none", "http/1.1", "http/2"};

static void print_text(const char *name, const char *text, size_t length)
{
    printf(",\"%s\":\"", name);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        printf(c < ' ' || c > '~' || c == '"' || c == '\\' ? "\\u%04x" : "%c", c);
    }
    printf("\"");
}

static void print_number(const char *name, int64_t number)
{
    printf(",\"%s\":%" PRId64, name, number);
}

static void print_time(const char *name, int64_t started_ms, int64_t ms)
{
    print_number(name, ms < 0 ? -1 : ms - started_ms);
}

void print_slot(const struct slot *slot, int64_t started_ms, int64_t now_ms)
{
    const struct transport_request *request = &slot->request;
    const struct lull_outcome *outcome = &request->outcome;
    const char *detail = request->detail ? request->detail : "";
    flockfile(stdout);
    printf("{\"transport\":\"%s\",\"effect\":\"%s\",\"protocol\":\"%s\"",
           lull_transport_to_string(outcome->transport),
           lull_effect_to_string(lull_outcome_effect(outcome)), protocol_words[request->protocol]);
    print_number("index", slot->index);
    print_number("status", outcome->status);
    print_number("attempts", slot->attempts);
    print_number("is_body_complete", request->is_body_complete);
    print_number("is_body_cut", request->response.is_body_cut);
    print_number("body_length", (int64_t)outcome->body_length);
    print_number("received", request->response.received);
    print_number("header_count", (int64_t)outcome->header_count);
    print_time("submitted_ms", started_ms, request->submitted_ms);
    print_time("sent_ms", started_ms, request->sent_ms);
    print_time("answered_ms", started_ms, request->answered_ms);
    print_time("done_ms", started_ms, now_ms);
    print_text("detail", detail, strlen(detail));
    print_text("body", outcome->body, outcome->body_length < 64 ? outcome->body_length : 64);
    printf("}\n");
    funlockfile(stdout);
}

static void print_count(const char *name, uint64_t count, const char **between)
{
    if (count > 0) {
        printf("%s\"%s\":%" PRIu64, *between, name, count);
        *between = ",";
    }
}

static void print_tally(const struct tally *tally)
{
    const char *between = "";
    printf(",\"statuses\":{");
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%u", i);
        print_count(name, tally->statuses[i], &between);
    }
    between = "";
    printf("},\"transports\":{");
    for (unsigned i = 0; i < LULL_TRANSPORTS; i++) {
        print_count(lull_transport_to_string(i), tally->transports[i], &between);
    }
    between = "";
    printf("},\"effects\":{");
    for (unsigned i = 0; i <= LULL_EFFECT_UNKNOWN; i++) {
        print_count(lull_effect_to_string(i), tally->effects[i], &between);
    }
    between = "";
    printf("},\"protocols\":{");
    for (unsigned i = 0; i <= TRANSPORT_PROTOCOL_HTTP_2; i++) {
        print_count(protocol_words[i], tally->protocols[i], &between);
    }
    printf("}");
}

void print_summary(const struct tally *tally, const struct transport_stats *stats,
                   const struct rss *rss, int64_t started_ms)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("{\"count\":%" PRIu64, tally->done);
    print_tally(tally);
    print_number("answered", (int64_t)tally->sums[ANSWERED]);
    print_number("incomplete", (int64_t)tally->sums[INCOMPLETE]);
    print_number("cut", (int64_t)tally->sums[CUT]);
    print_number("retries", (int64_t)tally->sums[RETRIES]);
    print_number("requests", (int64_t)stats->requests);
    print_number("moves", (int64_t)stats->moves);
    print_number("connections", (int64_t)stats->connections);
    print_number("resumptions", (int64_t)stats->resumptions);
    print_number("connect_failures", (int64_t)stats->connect_failures);
    print_number("open_connections", (int64_t)stats->open_connections);
    print_number("rss_tenth_kb", rss->tenth_kb);
    print_number("rss_end_kb", rss->end_kb);
    print_number("cpu_ms", LULL_SECONDS(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
    print_time("duration_ms", started_ms, lull_os_mono_ms());
    printf("}\n");
}

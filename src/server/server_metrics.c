/* server_metrics - the text of /metrics, in the Prometheus form (L3). SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>

#include "lull/duration.h"
#include "lull/version.h"
#include "server_parts.h"

struct metric {
    const char *name;
    const char *type;
    const char *help;
};

static void head(FILE *out, const struct metric *metric)
{
    (void)fprintf(out, "# HELP lull_%s %s\n# TYPE lull_%s %s\n", metric->name, metric->help,
                  metric->name, metric->type);
}

static void number(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
    head(out, &(struct metric){name, type, help});
    (void)fprintf(out, "lull_%s %" PRIu64 "\n", name, value);
}

static void counters(FILE *out, const struct server_figures *figures)
{
    const struct totals *totals = &figures->totals;
    number(out, "messages_accepted_total", "counter", "Messages that are or were in the queue.",
           totals->accepted);
    number(out, "messages_repeated_total", "counter",
           "Requests with an idempotency key that had been used for the same.", totals->repeated);
    number(out, "messages_replaced_total", "counter",
           "Messages that a newer one with the same topic replaced.", totals->replaced);
    number(out, "messages_delivered_total", "counter", "Messages that were delivered.",
           totals->delivered);
    number(out, "retries_total", "counter", "Those that were not the first of their message.",
           totals->retries);
    number(out, "lost_leases_total", "counter",
           "Messages that were in flight when their process ended.", figures->delivery.lost_leases);
    number(out, "commits_total", "counter", "Transactions of the store.",
           figures->delivery.commits);
    head(out, &(struct metric){"attempts_total", "counter", "Attempts that ended, by outcome."});
    for (unsigned i = LULL_CLASS_SUCCESS; i < LULL_CLASSES; i++) {
        (void)fprintf(out, "lull_attempts_total{class=\"%s\"} %" PRIu64 "\n",
                      lull_class_to_string((enum lull_class)i), figures->attempts_by_class[i]);
    }
    head(out, &(struct metric){"dead_letters_total", "counter", "Dead letters, by reason."});
    for (unsigned i = LULL_REASON_MAX_ATTEMPTS_EXCEEDED; i <= LULL_REASON_INVALID_TARGET; i++) {
        (void)fprintf(out, "lull_dead_letters_total{reason=\"%s\"} %" PRIu64 "\n",
                      lull_reason_to_string((enum lull_reason)i), totals->dead[i]);
    }
}

static void gauges(FILE *out, const struct server *server, const struct server_figures *figures)
{
    const struct store_stats *store = &figures->store;
    int64_t late_ms =
        store->oldest_due_ms < figures->now_ms ? figures->now_ms - store->oldest_due_ms : 0;
    number(out, "queue_waiting", "gauge", "Messages that wait.", store->waiting);
    number(out, "queue_leased", "gauge", "Messages that are in flight.", store->leased);
    number(out, "dead_letters", "gauge", "Dead letters that are kept.", store->dead);
    head(out, &(struct metric){"queue_oldest_due_seconds", "gauge",
                               "How long the message that is due longest has been."});
    (void)fprintf(out, "lull_queue_oldest_due_seconds %" PRId64 ".%03d\n", late_ms / 1000,
                  (int)(late_ms % 1000));
    number(out, "draining", "gauge", "1 while the server is being stopped.",
           atomic_load(&server->health.is_draining));
    number(out, "disk_full", "gauge", "1 while the disk has no room for a message.",
           figures->delivery.is_disk_full);
    head(out, &(struct metric){"uptime_seconds", "gauge", "How long the server runs."});
    (void)fprintf(out, "lull_uptime_seconds %" PRId64 "\n",
                  (figures->now_ms - server->started_ms) / 1000);
    head(out, &(struct metric){"build_info", "gauge", "The version."});
    (void)fprintf(out, "lull_build_info{version=\"%s\"} 1\n", LULL_VERSION);
}

size_t server_metrics(void *userdata, char **ret_text)
{
    struct server *server = userdata;
    size_t length = 0;
    *ret_text = NULL;
    (void)pthread_mutex_lock(&server->lock);
    struct server_figures figures = server->figures;
    (void)pthread_mutex_unlock(&server->lock);
    FILE *out = open_memstream(ret_text, &length);
    if (!out) {
        return 0;
    }
    counters(out, &figures);
    gauges(out, server, &figures);
    return fclose(out) == 0 ? length : 0;
}

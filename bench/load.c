/*
 * bench-load - brings messages to `lull serve`, or jobs to beanstalkd and takes them out again, and
 * says how long it took, and how much of it was its own.
 *
 *   bench-load post|batch|put|take PORT SINK [WORD=VALUE ...]
 *
 *   count=N          messages                           default 10,000
 *   first=N          number of the first                default 0
 *   connections=N    at once, each with one request     default 64
 *   lines=N          messages in each request           default 1
 *   per_s=N          no faster than that                default 0: as fast as they are taken
 *   kind=push        to subscriptions, encrypted        default webhook
 *   due_ms=N         when message 0 is due, wall clock  default 0: at once
 *   due_per_s=N      and those after it                 default 0: all at that time
 *   delay_s=N        of put                             default 0
 *   log=FILE         first message, count, sent and answered (ms) of each request
 *
 * SINK is the origin that the messages go to. Prints one line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "rounds.h"

struct options {
    struct load load;
    struct load_text_config text;
    const char *log_path;
};

static bool set_number(struct options *options, const char *word, double value)
{
    const struct {
        const char *word;
        double *real;
        uint32_t *count;
        uint64_t *number;
    } table[] = {
        {"count", NULL, NULL, &options->load.count},
        {"first", NULL, NULL, &options->load.first},
        {"connections", NULL, &options->load.connection_count, NULL},
        {"lines", NULL, &options->load.lines, NULL},
        {"delay_s", NULL, &options->load.delay_s, NULL},
        {"per_s", &options->load.per_s, NULL, NULL},
        {"due_per_s", &options->text.due_per_s, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(word, table[i].word) == 0) {
            if (table[i].real) {
                *table[i].real = value;
            } else if (table[i].count) {
                *table[i].count = (uint32_t)value;
            } else if (table[i].number) {
                *table[i].number = (uint64_t)value;
            }
            return true;
        }
    }
    return false;
}

static bool set_option(struct options *options, char *argument)
{
    char *value = strchr(argument, '=');
    if (!value) {
        return false;
    }
    *value++ = '\0';
    if (strcmp(argument, "kind") == 0) {
        options->text.is_push = strcmp(value, "push") == 0;
        return options->text.is_push || strcmp(value, "webhook") == 0;
    }
    if (strcmp(argument, "log") == 0) {
        options->log_path = value;
        return true;
    }
    if (strcmp(argument, "due_ms") == 0) {
        options->text.due_ms = strtoll(value, NULL, 10);
        return true;
    }
    return set_number(options, argument, strtod(value, NULL));
}

static bool read_options(struct options *options, int argc, char **argv)
{
    static const struct load_protocol *const protocols[] = {&load_post, &load_batch, &load_put,
                                                            &load_take, NULL};
    if (argc < 4) {
        return false;
    }
    for (size_t i = 0; protocols[i]; i++) {
        if (strcmp(argv[1], protocols[i]->word) == 0) {
            options->load.protocol = protocols[i];
        }
    }
    options->load.port = (uint16_t)strtoul(argv[2], NULL, 10);
    options->text.sink = argv[3];
    for (int i = 4; i < argc; i++) {
        if (!set_option(options, argv[i])) {
            return false;
        }
    }
    return options->load.protocol && options->load.connection_count > 0 && options->load.lines > 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_result(const struct load *load, double cpu_us)
{
    qsort(load->latencies_ms, load->requests, sizeof *load->latencies_ms, compare);
    printf("{\"accepted\": %llu, \"refused\": %llu, \"wall_s\": %.6f, \"cpu_s\": %.6f, "
           "\"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
           (unsigned long long)load->accepted, (unsigned long long)load->refused,
           load->wall_us / 1e6, cpu_us / 1e6, load->latencies_ms[load->requests / 2],
           load->latencies_ms[load->requests * 99 / 100]);
}

static int run(struct options *options)
{
    struct load *load = &options->load;
    struct load_text *text = load_text_new(&options->text);
    if (!text) {
        (void)fprintf(stderr, "bench-load: the messages could not be made\n");
        return 2;
    }
    load->text = text;
    if (options->log_path) {
        load->log = fopen(options->log_path, "we");
    }
    double cpu_us = rounds_now_us(CLOCK_PROCESS_CPUTIME_ID);
    bool is_good = load->count > 0 && load_run(load) && (!options->log_path || load->log);
    if (is_good) {
        print_result(load, rounds_now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us);
    }
    load_clean_up(load);
    load_text_destroy(text);
    if (load->log) {
        (void)fclose(load->log);
    }
    return is_good ? 0 : 2;
}

int main(int argc, char **argv)
{
    struct options options = {.load = {.count = 10000, .connection_count = 64, .lines = 1}};
    if (!read_options(&options, argc, argv)) {
        (void)fprintf(stderr, "usage: bench-load post|batch|put|take PORT SINK [WORD=VALUE ...]\n");
        return 2;
    }
    return run(&options);
}

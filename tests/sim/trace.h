/*
 * trace - what happened in a world, line by line: hashed as a whole, the last lines kept.
 *
 * The hash is over the text and the time of every line, so two runs of one seed that differ
 * anywhere have another hash. What fails first is what counts: after it nothing is written any
 * more.
 */
#ifndef LULL_TESTS_SIM_TRACE_H
#define LULL_TESTS_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_LINES 80
#define TRACE_LINE_SIZE 200

struct trace {
    int64_t mono_ms; /* set by the world, for the lines */
    bool is_verbose; /* print each line at once */
    uint64_t hash;
    uint64_t count; /* of all lines */
    char lines[TRACE_LINES][TRACE_LINE_SIZE];
    bool has_failed;
    char rule[8];
    char failure[TRACE_LINE_SIZE];
};

void trace_init(struct trace *trace, bool is_verbose);

__attribute__((format(printf, 2, 3))) void trace_event(struct trace *trace, const char *format,
                                                       ...);

/* A rule was broken. */
__attribute__((format(printf, 3, 4))) void trace_fail(struct trace *trace, const char *rule,
                                                      const char *format, ...);

/* The failure and the lines before it, to stdout. */
void trace_print_failure(const struct trace *trace, uint64_t seed);

/* `condition` must hold by that rule; else it says so and the caller goes on. */
#define must(trace, condition, rule, ...)                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            trace_fail((trace), (rule), __VA_ARGS__);                                              \
        }                                                                                          \
    } while (0)

#endif

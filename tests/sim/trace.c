/* trace - see the header. SPDX-License-Identifier: MIT */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a: short, and the same on every machine. */
static uint64_t hash_on(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

void trace_init(struct trace *trace, bool is_verbose)
{
    memset(trace, 0, sizeof *trace);
    trace->hash = UINT64_C(0xcbf29ce484222325);
    trace->is_verbose = is_verbose;
}

void trace_event(struct trace *trace, const char *format, ...)
{
    if (trace->has_failed) {
        return;
    }
    char *line = trace->lines[trace->count++ % TRACE_LINES];
    char what[TRACE_LINE_SIZE - 24];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    (void)snprintf(line, TRACE_LINE_SIZE, "%10" PRId64 " %s", trace->mono_ms, what);
    trace->hash = hash_on(trace->hash, line, strlen(line) + 1);
    if (trace->is_verbose) {
        (void)puts(line);
    }
}

void trace_fail(struct trace *trace, const char *rule, const char *format, ...)
{
    if (trace->has_failed) {
        return;
    }
    trace->has_failed = true;
    (void)snprintf(trace->rule, sizeof trace->rule, "%s", rule);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(trace->failure, sizeof trace->failure, format, arguments);
    va_end(arguments);
}

void trace_print_failure(const struct trace *trace, uint64_t seed)
{
    uint64_t first = trace->count > TRACE_LINES ? trace->count - TRACE_LINES : 0;
    for (uint64_t i = first; i < trace->count && !trace->is_verbose; i++) {
        (void)puts(trace->lines[i % TRACE_LINES]);
    }
    (void)printf("%10" PRId64 " FAILED %s: %s\n", trace->mono_ms, trace->rule, trace->failure);
    (void)printf("again: sim --seed %" PRIu64 " --verbose\n", seed);
}

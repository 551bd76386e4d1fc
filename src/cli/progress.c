/* progress - see the header. SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>

#define BAR_WIDTH 30

static void print_rest(struct progress *progress, const char *format, va_list arguments)
{
    vfprintf(stderr, format, arguments);
    fputs("\033[K", stderr);
    progress->is_shown = true;
}

void progress_bar(struct progress *progress, uint64_t done, uint64_t total, const char *format, ...)
{
    static const char bar[] = "##############################";
    int filled = done < total ? (int)((double)done / (double)total * BAR_WIDTH) : BAR_WIDTH;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "\r[%.*s%*s] ", filled, bar, BAR_WIDTH - filled, "");
    print_rest(progress, format, arguments);
    va_end(arguments);
}

void progress_text(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputc('\r', stderr);
    print_rest(progress, format, arguments);
    va_end(arguments);
}

void progress_clear(struct progress *progress)
{
    if (progress->is_shown) {
        fputs("\r\033[K", stderr);
        progress->is_shown = false;
    }
}

/* refuse - an error with its sentence. */
#ifndef LULL_WEBPUSH_REFUSE_H
#define LULL_WEBPUSH_REFUSE_H

#include <stdarg.h>
#include <stdio.h>

#include "lull/error.h"
#include "lull/subscription.h"

/* Returns code. error may be NULL. The sentence must not repeat a value: all of them are secrets.
 */
__attribute__((format(printf, 3, 4))) static inline int refuse(struct lull_webpush_error *error,
                                                               int code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return code;
}

static inline int refuse_memory(struct lull_webpush_error *error)
{
    return refuse(error, LULL_ERR_MEMORY, "there is not enough memory");
}

#endif

/* intake_problem - see the header. SPDX-License-Identifier: MIT */
#include "intake_problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "lull/error.h"

__attribute__((format(printf, 4, 0))) static void set(struct intake_problem *problem,
                                                      unsigned status, const char *member,
                                                      const char *format, va_list arguments)
{
    problem->status = status;
    (void)snprintf(problem->member, sizeof problem->member, "%s", member);
    (void)vsnprintf(problem->detail, sizeof problem->detail, format, arguments);
}

int intake_refuse(struct intake_problem *problem, int code, const char *member, const char *format,
                  ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(problem, 400, member, format, arguments);
    va_end(arguments);
    return code;
}

int intake_refuse_size(struct intake_problem *problem, const char *member, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(problem, 413, member, format, arguments);
    va_end(arguments);
    return LULL_ERR_RANGE;
}

/* intake_problem - what is wrong with a message, and where. */
#ifndef LULL_SERVER_INTAKE_PROBLEM_H
#define LULL_SERVER_INTAKE_PROBLEM_H

#include "intake.h"

/* Both return the code, for a status of 400 and 413. member "": the whole. The sentence must not
 * repeat a value that may be secret. */
__attribute__((format(printf, 4, 5))) int intake_refuse(struct intake_problem *problem, int code,
                                                        const char *member, const char *format,
                                                        ...);
__attribute__((format(printf, 3, 4))) int
intake_refuse_size(struct intake_problem *problem, const char *member, const char *format, ...);

#endif

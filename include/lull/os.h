/*
 * os - the edge: the clock and the seed that the pure parts never fetch themselves.
 */
#ifndef LULL_OS_H
#define LULL_OS_H

#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

/* 64 bits from the kernel's generator. Aborts the process if the kernel has none to give, since
 * a guessable or shared seed would make all clients retry in step. */
LULL_API uint64_t lull_os_seed(void);

/* Wall clock, milliseconds since 1970 UTC. */
LULL_API int64_t lull_os_now_ms(void);

/* A clock that never steps, milliseconds since some instant before the program began. */
LULL_API int64_t lull_os_mono_ms(void);

LULL_END_DECLS

#endif

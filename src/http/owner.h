/* owner - from a part to the whole that it lives in. */
#ifndef LULL_HTTP_OWNER_H
#define LULL_HTTP_OWNER_H

#include <stddef.h>

/* The struct of this type that has *part as this member. */
#define owner_of(part, type, member) ((type *)(void *)((char *)(part)-offsetof(type, member)))

#endif

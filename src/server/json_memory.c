/* json_memory - see the header. SPDX-License-Identifier: MIT */
#include "json_memory.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

static _Thread_local bool was_short;

static void *noting_malloc(size_t size)
{
    void *memory = malloc(size);
    was_short = was_short || !memory;
    return memory;
}

static void watch(void)
{
    json_set_alloc_funcs(noting_malloc, free);
}

void json_memory_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch);
}

bool json_memory_was_short(void)
{
    bool answer = was_short;
    was_short = false;
    return answer;
}

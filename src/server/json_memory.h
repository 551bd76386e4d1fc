/*
 * json_memory - was there memory enough for what jansson has just read?
 *
 * Where its buffer cannot grow, jansson drops a byte of a text and goes on (2.14): a body that is
 * one byte short would be accepted. So each allocation of its that fails is noted, for its thread.
 */
#ifndef LULL_SERVER_JSON_MEMORY_H
#define LULL_SERVER_JSON_MEMORY_H

#include <stdbool.h>

/* For the whole process, from the first call on; any thread may call it, again too. */
void json_memory_watch(void);

/* Has an allocation failed on this thread since it last asked? */
bool json_memory_was_short(void);

#endif

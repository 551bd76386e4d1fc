/*
 * stand_in - the other side of the API in its tests: a thread that does its jobs on a memory store,
 * as the engine's thread does, but can be held, filled up and made to fail.
 *
 * Nothing is ever sent: what is leased stays so.
 */
#ifndef LULL_TESTS_SERVER_STAND_IN_H
#define LULL_TESTS_SERVER_STAND_IN_H

#include "api.h"
#include "job.h"

struct stand_in;

struct stand_in *stand_in_start(void);
void stand_in_stop(struct stand_in *stand_in); /* after the api's end */

/* What an api_config wants. */
void stand_in_submit(void *stand_in, struct job *job);
int64_t stand_in_now_ms(void *stand_in);
size_t stand_in_metrics(void *stand_in, char **ret_text);
struct api_health *stand_in_health(struct stand_in *stand_in);

/* Jobs are collected and not done; and done again. */
void stand_in_hold(struct stand_in *stand_in, bool is_held);

/* Until so many are there that are not done. Returns how many. */
size_t stand_in_await(struct stand_in *stand_in, size_t count);

/* All that come from now on end with this error; LULL_OK: no more. */
void stand_in_fail(struct stand_in *stand_in, int error);

/* The queue is said to be full after so many more puts. */
void stand_in_fill_after(struct stand_in *stand_in, size_t puts);

/* What is found from now on, and how a cancel ends, whatever the store says. */
void stand_in_answer(struct stand_in *stand_in, enum job_found found, struct departed departed,
                     enum delivery_cancelled how);

/* How many jobs there have been. */
size_t stand_in_count(struct stand_in *stand_in);

#endif

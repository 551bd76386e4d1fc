/*
 * batch_results - what became of each line of a batch, remembered in 16 bytes, and written out as
 * it is read.
 *
 *   batch_results_new -> batch_results_add ... (each is set later) -> batch_results_write ...
 *                     -> batch_results_free
 *
 * A result stays where it is: the job of its line points to it until it is done.
 */
#ifndef LULL_SERVER_BATCH_RESULTS_H
#define LULL_SERVER_BATCH_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "problem.h"
#include "put_result.h"

struct waiter;

enum batch_outcome {
    BATCH_UNDER_WAY,
    BATCH_WAITING,
    BATCH_LEASED,
    BATCH_REPLAYED,
    BATCH_PROBLEM,
};

struct batch_result {
    union {
        struct waiter *waiter; /* UNDER_WAY */
        uint64_t id;
        const char *text; /* PROBLEM: what follows the line's number */
    };
    uint32_t line; /* from 1 */
    uint8_t state; /* enum batch_outcome */
};

struct batch_results;

struct batch_results *batch_results_new(void);          /* NULL: no memory */
void batch_results_free(struct batch_results *results); /* NULL is fine */

/* One more, UNDER_WAY. NULL: no memory. */
struct batch_result *batch_results_add(struct batch_results *results, uint32_t line,
                                       struct waiter *waiter);

void batch_result_accept(struct batch_result *result, const struct put_result *put);

/* Texts that follow each other are often the same, and then kept once. */
void batch_result_refuse(struct batch_results *results, struct batch_result *result,
                         const struct problem *problem);

/* Goes on where it was. Fills up to size bytes, and returns how many; 0: that was all. */
size_t batch_results_write(struct batch_results *results, char *to, size_t size);

#endif

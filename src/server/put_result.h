/* put_result - what became of a message that was put, in the words of the API. Pure. */
#ifndef LULL_SERVER_PUT_RESULT_H
#define LULL_SERVER_PUT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "intake.h"
#include "job.h"
#include "problem.h"

struct put_result {
    uint64_t id;
    uint64_t replaced; /* 0: none */
    bool is_leased;    /* else it waits */
    bool is_replayed;  /* it had been accepted before: where it is now is not known here (Q6) */
};

/* False: *ret_problem says why it was not accepted. */
bool put_result_of(const struct job_put *put, struct put_result *ret_result,
                   struct problem *ret_problem);

/* What the intake found wrong. */
void put_result_refused(const struct intake_problem *why, struct problem *ret_problem);

/* A store's error, or the engine's, as a problem. */
void put_result_error(int error, struct problem *ret_problem);

#endif

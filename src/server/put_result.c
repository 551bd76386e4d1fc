/* put_result - see the header. SPDX-License-Identifier: MIT */
#include "put_result.h"

#include <stdio.h>

#include "lull/error.h"
#include "store.h"

void put_result_refused(const struct intake_problem *why, struct problem *ret_problem)
{
    problem_set(ret_problem, problem_kind_of_status(why->status), 0, why->detail);
    (void)snprintf(ret_problem->member, sizeof ret_problem->member, "%s", why->member);
}

void put_result_error(int error, struct problem *ret_problem)
{
    switch (error) {
    case STORE_ERR_DISK_FULL:
        problem_set(ret_problem, PROBLEM_DISK_FULL, 5,
                    "the disk of the store is full: nothing can be made safe on it");
        break;
    case LULL_ERR_FULL:
        problem_set(ret_problem, PROBLEM_UNAVAILABLE, 60,
                    "as many services have messages as may; this would be one more");
        break;
    case STORE_ERR_BROKEN:
        problem_set(ret_problem, PROBLEM_UNAVAILABLE, 60, "the store is broken; see the log");
        break;
    default:
        problem_set(ret_problem, PROBLEM_INTERNAL, 0, "it could not be done; the log may say more");
        break;
    }
}

bool put_result_of(const struct job_put *put, struct put_result *ret_result,
                   struct problem *ret_problem)
{
    const struct store_put *done = &put->put.put;
    if (put->error) {
        put_result_error(put->error, ret_problem);
        return false;
    }
    if (done->ret_result == STORE_PUT_CONFLICT) {
        problem_set(ret_problem, PROBLEM_KEY_REUSED, 0,
                    "this idempotency key came with another request within the last 24 hours");
        return false;
    }
    *ret_result = (struct put_result){
        .id = done->ret_id,
        .replaced = done->ret_replaced,
        .is_leased = done->ret_result == STORE_PUT_LEASED,
        .is_replayed =
            done->ret_result == STORE_PUT_REPEATED || done->ret_result == STORE_PUT_UNDER_WAY,
    };
    return true;
}

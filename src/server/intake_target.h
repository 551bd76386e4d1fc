/* intake_target - where a message goes: may it, and which service is that (P1, S6, W5). */
#ifndef LULL_SERVER_INTAKE_TARGET_H
#define LULL_SERVER_INTAKE_TARGET_H

#include "intake_problem.h"
#include "lull/classify.h"
#include "lull/vendor.h"

#define INTAKE_URL_MAX 2048

struct intake_target {
    enum lull_vendor vendor;
    char service[256]; /* a vendor's name, or the host with a port that is not the usual one */
    size_t service_length;
};

/* LULL_ERR_RANGE and the problem, with `member` for what the URL is called. */
int intake_target_read(struct intake_target *ret_target, const struct config *config,
                       enum lull_kind kind, const char *url, const char *member,
                       struct intake_problem *problem);

#endif

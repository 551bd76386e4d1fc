/*
 * service - everything that paces one service, put together into one gate (P1-P6, K1-K3, G5).
 *
 * Pure. Outcomes go in; out comes the gate: whether, how fast, and how many at once. The parts
 * keep to their order: a pause answers a sender-wide 429, the learned rate gives way at the first
 * refusal, the pacer guards both, and the breaker hears only of refusals that none of these has
 * answered yet (K1).
 *
 *   lull_service_init -> { lull_service_ask -> send -> lull_service_report } ...
 *                        lull_service_gate at any time, for a store that enforces it
 */
#ifndef LULL_SERVICE_H
#define LULL_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/breaker.h"
#include "lull/bucket.h"
#include "lull/classify.h"
#include "lull/pacer.h"
#include "lull/random.h"
#include "lull/rate.h"
#include "lull/scope.h"
#include "lull/vendor.h"

LULL_BEGIN_DECLS

enum lull_rate_mode {
    LULL_RATE_LEARNED,   /* follows the service (P6) */
    LULL_RATE_FIXED,     /* what the operator says */
    LULL_RATE_UNLIMITED, /* no bucket at all */
};

struct lull_service_config {
    enum lull_vendor vendor;         /* default OTHER */
    enum lull_rate_mode rate_mode;   /* default learned */
    struct lull_bucket_config fixed; /* for FIXED                 default 100/s burst 500 */
    uint32_t learned_burst;          /* for LEARNED               default 20 */
    int64_t pause_ms;                /* sender-wide 429 without Retry-After    default 60,000 */
    int64_t refusal_wait_ms;         /* what a refused message waits at least  default 15,000 */
    struct lull_rate_config rate;
    struct lull_pacer_config pacer;
    struct lull_scope_config scope;
    struct lull_breaker_config breaker;
};

/* Why the gate is as it is: the nearest answer to "why is this message waiting?" */
enum lull_gate_cause {
    LULL_GATE_OPEN,    /* nothing holds it */
    LULL_GATE_PAUSED,  /* by a sender-wide 429, or the operator */
    LULL_GATE_BREAKER, /* open, or one probe under way */
    LULL_GATE_RATE,    /* the bucket is empty */
    LULL_GATE_FULL,    /* as many in flight as may be */
};

struct lull_gate {
    enum lull_gate_cause cause;
    int64_t closed_until_ms;   /* 0: open */
    uint64_t rate_milli_per_s; /* 0: unlimited */
    uint32_t burst;
    uint32_t in_flight_max;
    bool is_probe_only; /* one message, and wait for what becomes of it */
};

struct lull_service_permit {
    struct lull_breaker_permit breaker;
    int64_t sent_ms;
};

struct lull_service_outcome {
    enum lull_class class_;
    uint64_t subscription;  /* any hash of it */
    int64_t retry_after_ms; /* 0: not said */
};

struct lull_service {
    struct lull_service_config config;
    struct lull_rate rate;
    struct lull_pacer pacer;
    struct lull_scope_tracker scope;
    struct lull_breaker breaker;
    struct lull_bucket bucket;
    uint32_t in_flight;
    int64_t active_ms;       /* the last permit or report */
    uint64_t backlog;        /* as last told */
    int64_t refusal_wait_ms; /* as last seen */
    int64_t answered_ms;     /* 429s of what was sent before this have been answered */
    int64_t paused_until_ms; /* meaningful while is_paused */
    bool is_paused;
};

LULL_API void lull_service_config_default(struct lull_service_config *config);
LULL_API int lull_service_init(struct lull_service *service,
                               const struct lull_service_config *config, int64_t mono_ms);

/* How many messages wait for this service; LULL_BACKLOG_UNKNOWN at first. */
LULL_API void lull_service_set_backlog(struct lull_service *service, uint64_t backlog);

/* 0 and a permit: one message may go now. Else the ms after which to ask again, and *ret_cause
 * (which may be NULL) says why. */
LULL_API int64_t lull_service_ask(struct lull_service *service, int64_t mono_ms,
                                  struct lull_random *random,
                                  struct lull_service_permit *ret_permit,
                                  enum lull_gate_cause *ret_cause);

struct lull_service_events {
    bool is_sender_throttled; /* a 429 that means the whole sender: tell lull_decide */
    bool is_breaker_opened;   /* an alert, with the vendor's status page (K4) */
    bool is_paused;           /* a pause began or was made longer */
};

/* What became of a message that had a permit. Each permit is reported once; if all that are out are
 * lost, they count as reported after the breaker's probe_timeout_ms of silence. */
LULL_API struct lull_service_events lull_service_report(struct lull_service *service,
                                                        int64_t mono_ms,
                                                        struct lull_service_permit permit,
                                                        const struct lull_service_outcome *outcome,
                                                        struct lull_random *random);

/* By the operator, or another node: from now on for that long, also if that is sooner than before;
 * for_ms 0 ends a pause. A 429 only ever makes a pause longer. */
LULL_API void lull_service_pause(struct lull_service *service, int64_t mono_ms, int64_t for_ms);

LULL_API struct lull_gate lull_service_gate(struct lull_service *service, int64_t mono_ms,
                                            struct lull_random *random);

LULL_API const char *lull_gate_cause_to_string(enum lull_gate_cause cause);

LULL_END_DECLS

#endif

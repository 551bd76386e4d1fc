/*
 * answer - what the network and a service make of one request: the outcome that the sender sees,
 * and what is true.
 *
 * What a Retry-After means is known here from how it was made, not by reading it again.
 */
#ifndef LULL_TESTS_SIM_ANSWER_H
#define LULL_TESTS_SIM_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/lull.h"
#include "plan.h"

/* How a service behaves for a while. */
enum mood {
    MOOD_GOOD,
    MOOD_FLAKY,      /* a bit of everything */
    MOOD_THROTTLING, /* many 429 */
    MOOD_DOWN,       /* 503 and refused connections */
    MOOD_LOSSY,      /* resets, timeouts, GOAWAY: sent, and no answer */
    MOOD_STRICT,     /* 4xx that end a message */
    MOODS,           /* how many there are */
};

/* How the service said when to come back. */
enum asking {
    ASKED_NOTHING,
    ASKED_WAIT, /* in asked_ms from when the answer is read */
    ASKED_DATE, /* at asked_wall_ms, by whatever clock reads it */
};

enum answer_class { /* what is right to do, by C2 to C8 */
                    ANSWER_SUCCESS,
                    ANSWER_THROTTLED,    /* 429 */
                    ANSWER_AUTH_SUSPECT, /* 429 in disguise */
                    ANSWER_RETRYABLE,
                    ANSWER_FATAL, /* with fatal_reason */
};

#define ANSWER_HEADERS 4
#define ANSWER_TEXT_SIZE 48

struct answer {
    struct lull_outcome outcome; /* headers are set by answer_outcome */
    const char *names[ANSWER_HEADERS];
    char texts[ANSWER_HEADERS][ANSWER_TEXT_SIZE];
    struct lull_header headers[ANSWER_HEADERS];
    uint32_t header_count;
    int64_t takes_ms;  /* until the sender knows */
    bool is_processed; /* the service has acted on it */
    enum answer_class class_;
    enum lull_reason fatal_reason;
    enum asking asking;
    int64_t asked_ms;
    int64_t asked_wall_ms;
};

/* wall_ms is the service's own clock, which is right. */
void answer_draw(struct answer *answer, const struct plan *plan, enum mood mood, bool is_push,
                 int64_t wall_ms, struct lull_random *random);

/* Good and quick: after all trouble. */
void answer_well(struct answer *answer, struct lull_random *random);

/* As the sender's side has it; points into the answer. */
const struct lull_outcome *answer_outcome(struct answer *answer);

/* What it asks for, read at now_ms of the sender's clock: 0 or more; -1: nothing. */
int64_t answer_asked_ms(const struct answer *answer, int64_t now_ms);

#endif

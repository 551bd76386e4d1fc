/*
 * incoming - is the request that we serve itself a retry (G7, H4)?
 *
 * Read from its headers: Lull-Attempt and x-envoy-attempt-count give the number of the attempt,
 * grpc-previous-rpc-attempts how many went before. Hand the answer to the client
 * (lull_facts.incoming_attempt), which then retries less or not at all: else three layers that each
 * try four times hit the innermost service sixty-four times.
 */
#ifndef LULL_INCOMING_H
#define LULL_INCOMING_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/outcome.h"

LULL_BEGIN_DECLS

/* The number of this attempt, from 1; the largest, if several headers tell. What is no whole number
 * says nothing; a huge one saturates. */
LULL_API uint32_t lull_incoming_attempt(const struct lull_header *headers, size_t header_count);

LULL_END_DECLS

#endif

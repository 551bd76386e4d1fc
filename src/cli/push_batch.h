/*
 * push_batch - `lull push --batch`: messages a line, in chunks.
 *
 * Each chunk is one request with a key of its own, so it can be repeated as a whole: after a broken
 * connection, and until a server that is full has taken all of it. What it had accepted before is
 * answered with the same ids (Q6).
 */
#ifndef LULL_CLI_PUSH_BATCH_H
#define LULL_CLI_PUSH_BATCH_H

#include "api_client.h"
#include "push_options.h"

/* The exit code of it all. */
int push_batch(struct api *api, const struct push_options *options);

#endif

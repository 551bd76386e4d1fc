/*
 * load_text - the messages that bench-load brings: JSON for `lull serve`, one like the other but
 * for their number, which is in the path of the URL: so a sink's log tells which came, and how
 * often.
 *
 *   load_text_new -> load_text_write ... -> load_text_destroy
 */
#ifndef LULL_BENCH_LOAD_TEXT_H
#define LULL_BENCH_LOAD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_TEXT_MAX 1024
#define LOAD_BODY_SIZE 197 /* as a push it is one of 300 bytes */

struct load_text_config {
    const char *sink; /* https://host:port */
    bool is_push;     /* to one of 1,000 subscriptions with a real key each; else a webhook */
    int64_t due_ms;   /* wall clock: of message 0; 0: all are due when they come */
    double due_per_s; /* of those after it; 0: all at the same time */
};

struct load_text;

/* NULL: no memory, or the sink's name is too long. */
struct load_text *load_text_new(const struct load_text_config *config);
void load_text_destroy(struct load_text *text); /* NULL is fine */

/* One JSON object, into LOAD_TEXT_MAX bytes; returns its length. */
size_t load_text_write(const struct load_text *text, uint64_t number, char *ret_json);

/* What is the body of each: LOAD_BODY_SIZE letters. */
const char *load_text_body(void);

#endif

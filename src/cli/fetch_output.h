/*
 * fetch_output - where the body of one answer goes: a file, standard output, or nowhere.
 *
 * A file is opened when the answer begins and can be begun again. Standard output cannot, so the
 * first megabyte is held back until the body is complete or grows over it: a body that breaks off
 * before is fetched again, and nobody has seen the half.
 */
#ifndef LULL_CLI_FETCH_OUTPUT_H
#define LULL_CLI_FETCH_OUTPUT_H

#include <stdio.h>

#include "lull/http.h"

struct fetch_output {
    const char *name; /* of the file; NULL: standard output */
    bool is_dropped;  /* --json without a file */
    bool is_included; /* the head, too */
    bool is_head;     /* nothing but the head */
    bool is_failing;  /* --fail: an answer of 300 or more is not written */
    FILE *file;
    char *held;
    size_t held_length;
    size_t held_size;
    bool is_flushed;  /* what was held is out */
    bool is_skipped;  /* this answer is not written */
    bool is_failed;   /* and errno said why */
    int64_t written;  /* bytes of the body */
    int64_t expected; /* Content-Length, or -1 */
};

struct lull_sink fetch_output_sink(struct fetch_output *output);

/* Writes what was held, closes. False: it could not be written. */
bool fetch_output_finish(struct fetch_output *output);

#endif

/* batch_results - see the header. SPDX-License-Identifier: MIT */
#include "batch_results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

#define CHUNK_RESULTS 1000

struct chunk {
    struct chunk *next;
    uint32_t count;
    struct batch_result results[CHUNK_RESULTS];
};

struct text {
    struct text *next; /* the one before it */
    char bytes[];
};

struct batch_results {
    struct chunk *first;
    struct chunk *last;
    struct text *texts; /* the newest first */

    /* Where the writing is. */
    struct chunk *chunk;
    uint32_t index;
    bool has_begun;
    size_t line_length;
    size_t line_written;
    char line[PROBLEM_TEXT_SIZE + 32];
};

/* Of one for which there is not even memory to say why. */
static const char no_memory[] = ",\"status\":500,\"title\":\"The fault is ours\","
                                "\"detail\":\"there is no memory\"}";

struct batch_results *batch_results_new(void)
{
    return calloc(1, sizeof(struct batch_results));
}

void batch_results_free(struct batch_results *results)
{
    if (!results) {
        return;
    }
    for (struct chunk *chunk = results->first, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    for (struct text *text = results->texts, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    free(results);
}

struct batch_result *batch_results_add(struct batch_results *results, uint32_t line,
                                       struct waiter *waiter)
{
    if (!results->last || results->last->count == CHUNK_RESULTS) {
        struct chunk *chunk = malloc(sizeof *chunk);
        if (!chunk) {
            return NULL;
        }
        chunk->next = NULL;
        chunk->count = 0;
        *(results->last ? &results->last->next : &results->first) = chunk;
        results->last = chunk;
    }
    struct batch_result *result = &results->last->results[results->last->count++];
    *result = (struct batch_result){.waiter = waiter, .line = line, .state = BATCH_UNDER_WAY};
    return result;
}

void batch_result_accept(struct batch_result *result, const struct put_result *put)
{
    result->id = put->id;
    result->state = put->is_replayed ? BATCH_REPLAYED
                    : put->is_leased ? BATCH_LEASED
                                     : BATCH_WAITING;
}

void batch_result_refuse(struct batch_results *results, struct batch_result *result,
                         const struct problem *problem)
{
    char bytes[PROBLEM_TEXT_SIZE];
    size_t length = problem_write_result(problem, bytes);
    result->state = BATCH_PROBLEM;
    if (results->texts && strcmp(results->texts->bytes, bytes) == 0) {
        result->text = results->texts->bytes;
        return;
    }
    struct text *text = malloc(sizeof *text + length + 1);
    if (!text) {
        result->text = no_memory;
        return;
    }
    memcpy(text->bytes, bytes, length + 1);
    text->next = results->texts;
    results->texts = text;
    result->text = text->bytes;
}

/* ---- writing ---- */

static size_t write_line(const struct batch_result *result, char *to)
{
    size_t length = (size_t)sprintf(to, "{\"line\":%" PRIu32, result->line);
    if (result->state == BATCH_PROBLEM) {
        return length + (size_t)sprintf(to + length, "%s\n", result->text);
    }
    char id[MESSAGE_ID_TEXT_SIZE];
    message_id_write(result->id, id);
    length += (size_t)sprintf(to + length, ",\"status\":202,\"id\":\"%s\"", id);
    if (result->state == BATCH_REPLAYED) {
        return length + (size_t)sprintf(to + length, ",\"replayed\":true}\n");
    }
    enum message_place place = result->state == BATCH_LEASED ? MESSAGE_LEASED : MESSAGE_WAITING;
    return length +
           (size_t)sprintf(to + length, ",\"state\":\"%s\"}\n", message_place_to_string(place));
}

/* The next line into results->line. False: that was the last. */
static bool next_line(struct batch_results *results)
{
    if (!results->has_begun) {
        results->has_begun = true;
        results->chunk = results->first;
    }
    if (results->chunk && results->index == results->chunk->count) {
        results->chunk = results->chunk->next;
        results->index = 0;
    }
    if (!results->chunk) {
        return false;
    }
    results->line_length = write_line(&results->chunk->results[results->index++], results->line);
    results->line_written = 0;
    return true;
}

size_t batch_results_write(struct batch_results *results, char *to, size_t size)
{
    size_t length = 0;
    while (length < size) {
        if (results->line_written == results->line_length && !next_line(results)) {
            break;
        }
        size_t rest = results->line_length - results->line_written;
        size_t part = rest < size - length ? rest : size - length;
        memcpy(to + length, results->line + results->line_written, part);
        results->line_written += part;
        length += part;
    }
    return length;
}

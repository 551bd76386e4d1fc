/* push_batch - see the header. SPDX-License-Identifier: MIT */
#include "push_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "lull/retry.h"

#define CHUNK_BYTES_MAX ((size_t)8 << 20)
#define KEY_SIZE 256

struct line {
    uint64_t number; /* in the input */
    json_t *result;  /* what the server says of it; NULL: nothing yet */
};

struct batch {
    struct api *api;
    const struct push_options *options;
    FILE *input;
    uint64_t input_bytes; /* of a regular file, else 0: unknown */
    struct progress progress;
    bool has_progress;
    char base_key[KEY_SIZE];
    /* the chunk */
    uint64_t chunk; /* its number, from 1 */
    char *text;
    size_t length;
    size_t size;
    struct line *lines;
    uint32_t count;
    bool is_first_try; /* what the server knows of its keys, another run has told it */
    /* all of it */
    uint64_t lines_read;
    uint64_t bytes_read;
    uint64_t accepted;
    uint64_t repeated; /* of these, by an earlier run */
    uint64_t refused;
    uint64_t left; /* not taken, though nothing is wrong with them */
};

static void show_progress(struct batch *batch)
{
    if (!batch->has_progress) {
        return;
    }
    if (batch->input_bytes > 0) {
        progress_bar(&batch->progress, batch->bytes_read, batch->input_bytes,
                     "%3d %%  %" PRIu64 " accepted, %" PRIu64 " refused",
                     (int)(batch->bytes_read * 100 / batch->input_bytes), batch->accepted,
                     batch->refused);
    } else {
        progress_text(&batch->progress, "%" PRIu64 " accepted, %" PRIu64 " refused",
                      batch->accepted, batch->refused);
    }
}

/* ---- reading a chunk ---- */

static bool append(struct batch *batch, const char *line, size_t length)
{
    size_t wanted = batch->length + length + 1;
    if (wanted > batch->size) {
        size_t size = wanted * 2;
        char *moved = realloc(batch->text, size);
        if (!moved) {
            return false;
        }
        batch->text = moved;
        batch->size = size;
    }
    memcpy(batch->text + batch->length, line, length);
    batch->text[batch->length + length] = '\n';
    batch->length = wanted;
    batch->lines[batch->count++].number = batch->lines_read;
    return true;
}

/* As many lines as fit; blank ones are left out, so that the server's n-th is ours. */
static int read_chunk(struct batch *batch)
{
    char *line = NULL;
    size_t size = 0;
    bool is_good = true;
    batch->length = 0;
    batch->count = 0;
    batch->chunk++;
    while (is_good && batch->count < batch->options->chunk_lines &&
           batch->length < CHUNK_BYTES_MAX) {
        ssize_t length = getline(&line, &size, batch->input);
        if (length < 0) {
            break;
        }
        batch->lines_read++;
        batch->bytes_read += (uint64_t)length;
        while (length > 0 && strchr("\r\n", line[length - 1])) {
            length--;
        }
        if (strspn(line, " \t") < (size_t)length) {
            is_good = append(batch, line, (size_t)length);
        }
    }
    free(line);
    if (!is_good) {
        return api_say(batch->api, "there is not enough memory");
    }
    return ferror(batch->input)
               ? api_say(batch->api, "the batch cannot be read: %s", strerror(errno))
               : CLI_OK;
}

/* ---- sending it ---- */

static int64_t status_of(const struct batch *batch, uint32_t index)
{
    return api_number(batch->lines[index].result, "status", 0);
}

/* Full, or at work on the same key: it will be taken later. 0: the server left it out. */
static bool is_for_later(int64_t status)
{
    return status == 429 || status == 503 || status == 409 || status == 0;
}

static uint32_t count_for_later(const struct batch *batch)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        count += is_for_later(status_of(batch, i));
    }
    return count;
}

/* How long to wait before the chunk is tried again: what the server asked for at least, with a
 * spread on top (A3). LULL_NEVER: patience is over. */
static int64_t wait_for_room(const struct batch *batch, struct lull_retry *retry)
{
    int64_t wait_ms = lull_retry_after_failure(retry, true, lull_os_mono_ms());
    int64_t asked_s = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        int64_t line_s = api_number(batch->lines[i].result, "retry_after", 0);
        asked_s = is_for_later(status_of(batch, i)) && line_s > asked_s ? line_s : asked_s;
    }
    if (wait_ms == LULL_NEVER || asked_s > retry->policy.retry_after_max_ms / 1000) {
        return LULL_NEVER;
    }
    int64_t asked_ms = asked_s * 1000;
    asked_ms += (int64_t)(lull_os_seed() % (uint64_t)(asked_ms / 10 + 1));
    return wait_ms > asked_ms ? wait_ms : asked_ms;
}

/* The results of one try; each replaces that of the try before. */
static void take_results(struct batch *batch, const struct api_answer *answer)
{
    const char *text = answer->result->body;
    const char *end = text + answer->result->body_length;
    while (text && text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        json_t *result = json_loadb(text, length, 0, NULL);
        int64_t line = api_number(result, "line", 0);
        if (line >= 1 && line <= batch->count) {
            json_decref(batch->lines[line - 1].result);
            batch->lines[line - 1].result = json_incref(result);
        }
        json_decref(result);
        text += length + 1;
    }
    batch->is_first_try = batch->is_first_try && answer->is_first;
}

/* Until each line has been taken or refused for good, or patience is over: then the last answers
 * stand. A try that got further begins the patience anew. */
static int send_chunk(struct batch *batch)
{
    struct lull_retry retry;
    char key[KEY_SIZE + 24];
    char text[CLI_DURATION_SIZE];
    uint32_t left = batch->count + 1;
    (void)snprintf(key, sizeof key, "%s:%" PRIu64, batch->base_key, batch->chunk);
    struct api_request request = {.method = "POST",
                                  .path = "/v1/messages/batch",
                                  .content_type = "application/x-ndjson",
                                  .body = batch->text,
                                  .body_length = batch->length,
                                  .idempotency_key = key,
                                  .is_answer_lines = true};
    for (batch->is_first_try = true;; batch->is_first_try = false) {
        struct api_answer answer;
        int code = api_call(batch->api, &request, &answer);
        if (code != CLI_OK) {
            return code;
        }
        take_results(batch, &answer);
        api_answer_free(&answer);
        uint32_t left_now = count_for_later(batch);
        if (left_now == 0) {
            return CLI_OK;
        }
        if (left_now < left && lull_retry_init(&retry, &batch->api->policy, lull_os_seed(),
                                               lull_os_mono_ms()) != LULL_OK) {
            return api_say(batch->api, "the policy of its own requests is wrong");
        }
        left = left_now;
        int64_t wait_ms = wait_for_room(batch, &retry);
        if (wait_ms == LULL_NEVER) {
            (void)api_say(batch->api, "%" PRIu32 " lines had to wait for too long", left);
            return API_NO_ANSWER;
        }
        if (!batch->options->is_quiet) {
            (void)api_say(batch->api, "%" PRIu32 " lines have to wait; again in %s", left,
                          cli_format_duration(wait_ms, text));
        }
        cli_sleep(wait_ms);
    }
}

/* ---- what came of it ---- */

static void tell_refused(const struct batch *batch, uint32_t index)
{
    char problem[API_PROBLEM_SIZE];
    (void)api_say(batch->api, "line %" PRIu64 ": %s", batch->lines[index].number,
                  api_problem(batch->lines[index].result, status_of(batch, index), problem));
}

static void count_line(struct batch *batch, uint32_t index)
{
    const json_t *result = batch->lines[index].result;
    int64_t status = status_of(batch, index);
    if (is_for_later(status)) {
        batch->left++;
    } else if (status >= 200 && status <= 299) {
        batch->accepted++;
        batch->repeated += batch->is_first_try && json_is_true(json_object_get(result, "replayed"));
    } else {
        batch->refused++;
        tell_refused(batch, index);
    }
}

/* Counts and tells the chunk, and forgets its results. */
static void finish_chunk(struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        json_t *result = batch->lines[i].result;
        count_line(batch, i);
        if (batch->options->is_json && result) {
            (void)json_object_set_new(result, "line",
                                      json_integer((json_int_t)batch->lines[i].number));
            (void)api_print_json(result);
        }
        json_decref(result);
        batch->lines[i].result = NULL;
    }
}

static void tell_all(const struct batch *batch, int exit_code)
{
    if (!batch->options->is_quiet) {
        char left[64] = "";
        char repeated[64] = "";
        if (batch->left > 0) {
            (void)snprintf(left, sizeof left, ", %" PRIu64 " not taken", batch->left);
        }
        if (batch->repeated > 0) {
            (void)snprintf(repeated, sizeof repeated, " (%" PRIu64 " of them before)",
                           batch->repeated);
        }
        (void)api_say(batch->api, "%" PRIu64 " accepted%s, %" PRIu64 " refused%s", batch->accepted,
                      repeated, batch->refused, left);
    }
    if (batch->options->is_json) {
        printf("{\"accepted\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"left\":%" PRIu64
               ",\"repeated\":%" PRIu64 ",\"exit\":%d}\n",
               batch->accepted, batch->refused, batch->left, batch->repeated, exit_code);
    }
}

/* How to go on where this has stopped. */
static void tell_stopped(const struct batch *batch)
{
    uint64_t line = batch->count > 0 ? batch->lines[0].number : batch->lines_read;
    if (batch->options->idempotency_key) {
        (void)api_say(batch->api,
                      "stopped in the chunk that begins at line %" PRIu64
                      "; the same command again takes up from there",
                      line);
    } else {
        (void)api_say(batch->api,
                      "stopped in the chunk that begins at line %" PRIu64
                      "; the same command with --idempotency-key %s takes up from there",
                      line, batch->base_key);
    }
}

/* ---- the whole ---- */

static int open_input(struct batch *batch)
{
    const char *path = batch->options->batch;
    struct stat status;
    batch->input = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (!batch->input) {
        return cli_usage("push", "the batch cannot be read: %s", strerror(errno));
    }
    if (fstat(fileno(batch->input), &status) == 0 && S_ISREG(status.st_mode)) {
        batch->input_bytes = (uint64_t)status.st_size;
    }
    batch->lines = calloc(batch->options->chunk_lines, sizeof *batch->lines);
    return batch->lines ? CLI_OK : api_say(batch->api, "there is not enough memory");
}

/* What went wrong once is told, and the rest is not tried: it would meet the same. */
static int send_all(struct batch *batch)
{
    int code = CLI_OK;
    while (code == CLI_OK) {
        code = read_chunk(batch);
        if (code != CLI_OK || batch->count == 0) {
            break;
        }
        show_progress(batch);
        code = send_chunk(batch);
        finish_chunk(batch);
        if (code != CLI_OK) {
            tell_stopped(batch);
        }
        show_progress(batch);
    }
    progress_clear(&batch->progress);
    return code == CLI_OK && batch->refused > 0 ? (int)API_REFUSED : code;
}

static void close_input(struct batch *batch)
{
    if (batch->input && batch->input != stdin) {
        (void)fclose(batch->input);
    }
    for (uint32_t i = 0; batch->lines && i < batch->count; i++) {
        json_decref(batch->lines[i].result);
    }
    if (batch->text) { /* subscriptions and texts: nobody's business */
        explicit_bzero(batch->text, batch->size);
    }
    free(batch->text);
    free(batch->lines);
}

int push_batch(struct api *api, const struct push_options *options)
{
    struct batch batch = {.api = api, .options = options};
    const char *key = options->idempotency_key;
    if (key) {
        (void)snprintf(batch.base_key, sizeof batch.base_key, "%s", key);
    } else {
        cli_make_key(batch.base_key);
    }
    batch.has_progress = !options->is_quiet && isatty(STDERR_FILENO);
    api->progress = &batch.progress;
    int code = open_input(&batch);
    if (code == CLI_OK) {
        code = send_all(&batch);
        tell_all(&batch, code);
    }
    api->progress = NULL;
    close_input(&batch);
    return code;
}

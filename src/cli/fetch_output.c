/* fetch_output - see the header. SPDX-License-Identifier: MIT */
#include "fetch_output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELD_MAX 1048576

static bool fail(struct fetch_output *output)
{
    output->is_failed = true;
    return false;
}

static bool hold(struct fetch_output *output, const char *data, size_t length)
{
    size_t wanted = output->held_length + length;
    if (wanted > output->held_size) {
        size_t size = wanted * 2 > 16384 ? wanted * 2 : 16384;
        char *moved = realloc(output->held, size);
        if (!moved) {
            return fail(output);
        }
        output->held = moved;
        output->held_size = size;
    }
    memcpy(output->held + output->held_length, data, length);
    output->held_length = wanted;
    return true;
}

static bool flush(struct fetch_output *output)
{
    size_t length = output->held_length;
    output->is_flushed = true;
    output->held_length = 0;
    return length == 0 || fwrite(output->held, 1, length, stdout) == length || fail(output);
}

static bool emit(struct fetch_output *output, const char *data, size_t length)
{
    if (output->is_dropped || output->is_skipped || length == 0) {
        return true;
    }
    if (output->name) {
        return fwrite(data, 1, length, output->file) == length || fail(output);
    }
    if (!output->is_flushed && output->held_length + length <= HELD_MAX) {
        return hold(output, data, length);
    }
    if (!output->is_flushed && !flush(output)) {
        return false;
    }
    return fwrite(data, 1, length, stdout) == length || fail(output);
}

static bool emit_head(struct fetch_output *output, const struct lull_response *response)
{
    char line[32];
    int length = snprintf(line, sizeof line, "HTTP %u\r\n", response->status);
    bool is_good = emit(output, line, (size_t)length);
    for (size_t i = 0; is_good && i < response->header_count; i++) {
        const struct lull_header *header = &response->headers[i];
        is_good = emit(output, header->name, header->name_length) && emit(output, ": ", 2) &&
                  emit(output, header->value, header->value_length) && emit(output, "\r\n", 2);
    }
    return is_good && emit(output, "\r\n", 2);
}

static bool begin(void *userdata, const struct lull_response *response, bool is_again)
{
    struct fetch_output *output = userdata;
    (void)is_again; /* the file is truncated, what is held is dropped; can_restart has agreed */
    output->held_length = 0;
    output->written = 0;
    output->expected = lull_response_length(response);
    output->is_skipped = output->is_failing && response->status >= 300;
    if (output->name && !output->is_skipped) {
        bool is_open = output->file != NULL;
        output->file =
            is_open ? freopen(output->name, "wb", output->file) : fopen(output->name, "wb");
        if (!output->file) {
            return fail(output);
        }
    }
    return (!output->is_included && !output->is_head) || emit_head(output, response);
}

static bool write_body(void *userdata, const char *data, size_t length)
{
    struct fetch_output *output = userdata;
    output->written += (int64_t)length;
    return emit(output, data, length);
}

/* A pipe or a terminal under -o cannot be begun again; neither can what has left for stdout. */
static bool can_restart(void *userdata)
{
    const struct fetch_output *output = userdata;
    if (output->name && output->file) {
        return lseek(fileno(output->file), 0, SEEK_CUR) >= 0;
    }
    return !output->is_flushed;
}

struct lull_sink fetch_output_sink(struct fetch_output *output)
{
    return (struct lull_sink){output, begin, write_body, can_restart};
}

bool fetch_output_finish(struct fetch_output *output)
{
    if (!output->is_flushed) {
        (void)flush(output);
    }
    if (output->file && fclose(output->file) != 0) {
        output->is_failed = true;
    }
    output->file = NULL;
    free(output->held);
    output->held = NULL;
    return !output->is_failed;
}

/*
 * load_beanstalk - jobs into beanstalkd, and out again: the body is the same as a webhook's for
 * Lull, with its URL. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define COMMAND_MAX 64

static void ask_put(const struct load *load, struct load_connection *connection)
{
    for (uint32_t i = 0; i < connection->count; i++) {
        char json[LOAD_TEXT_MAX];
        size_t length = load_text_write(load->text, connection->first + i, json);
        char *command = load_bytes_room(&connection->out, COMMAND_MAX);
        connection->out.length += (size_t)snprintf(command, COMMAND_MAX, "put 1000 %u 600 %zu\r\n",
                                                   load->delay_s, length);
        load_bytes_add(&connection->out, json, length);
        load_bytes_add(&connection->out, "\r\n", 2);
    }
}

/* The next line, and where it ends; NULL: it is not whole. */
static const char *next_line(struct load_connection *connection)
{
    const char *line = connection->in.data + connection->read;
    const char *end = memmem(line, connection->in.length - connection->read, "\r\n", 2);
    if (!end) {
        return NULL;
    }
    connection->read = (size_t)(end - connection->in.data) + 2;
    return line;
}

static bool begins(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static enum load_answer answer_put(struct load *load, struct load_connection *connection)
{
    const char *line = NULL;
    while (connection->answered < connection->count && (line = next_line(connection))) {
        bool is_accepted = begins(line, "INSERTED ");
        connection->answered++;
        load->accepted += is_accepted;
        load->refused += !is_accepted;
    }
    return connection->answered < connection->count ? LOAD_PART : LOAD_WHOLE;
}

static void ask_take(const struct load *load, struct load_connection *connection)
{
    (void)load;
    for (uint32_t i = 0; i < connection->count; i++) {
        load_bytes_add(&connection->out, "reserve\r\n", strlen("reserve\r\n"));
    }
}

/* RESERVED ID LENGTH, and the job behind it: asks for its deletion. */
static enum load_answer delete_job(struct load_connection *connection, const char *line)
{
    char *id_end = NULL;
    unsigned long long id = strtoull(line + strlen("RESERVED "), &id_end, 10);
    size_t end = connection->read + strtoul(id_end, NULL, 10) + 2;
    if (connection->in.length < end) {
        connection->read = (size_t)(line - connection->in.data); /* again, when it is whole */
        return LOAD_PART;
    }
    connection->read = end;
    char *command = load_bytes_room(&connection->out, COMMAND_MAX);
    connection->out.length += (size_t)snprintf(command, COMMAND_MAX, "delete %llu\r\n", id);
    return LOAD_MORE;
}

static enum load_answer answer_take(struct load *load, struct load_connection *connection)
{
    const char *line = NULL;
    bool is_more = false;
    while (connection->answered < connection->count && (line = next_line(connection))) {
        if (begins(line, "RESERVED ")) {
            if (delete_job(connection, line) == LOAD_PART) {
                break;
            }
            is_more = true;
        } else {
            bool is_deleted = begins(line, "DELETED");
            connection->answered++;
            load->accepted += is_deleted;
            load->refused += !is_deleted;
        }
    }
    if (is_more) {
        return LOAD_MORE;
    }
    return connection->answered < connection->count ? LOAD_PART : LOAD_WHOLE;
}

const struct load_protocol load_put = {"put", ask_put, answer_put};
const struct load_protocol load_take = {"take", ask_take, answer_take};

/*
 * messages_print - what the API tells of a message, for people. The texts are the server's, with
 * what a terminal would act on taken out.
 */
#ifndef LULL_CLI_MESSAGES_PRINT_H
#define LULL_CLI_MESSAGES_PRINT_H

#include <jansson.h>
#include <stdio.h>

/* All of one: what it is, why it waits (Q10) or how it ended, and each attempt. */
void messages_print_one(FILE *out, json_t *message);

/* The head of a table, and a line of it. */
void messages_print_head(FILE *out);
void messages_print_line(FILE *out, json_t *message);

/* "2026-01-31T09:00:00.000Z" as "2026-01-31 09:00:00"; "-" for none. The buffer is big enough. */
#define MESSAGES_TIME_SIZE 32
const char *messages_format_time(const char *time, char buffer[MESSAGES_TIME_SIZE]);

#endif

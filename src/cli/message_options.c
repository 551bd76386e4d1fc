/* message_options - see the header. SPDX-License-Identifier: MIT */
#include "message_options.h"

#include <openssl/crypto.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lull/error.h"
#include "lull/webpush.h"
#include "topic.h"

#define SUBSCRIPTION_MAX 16384

int message_read_topic(const char *command, const char *text, const char **ret_topic)
{
    if (topic_form_of(text) != TOPIC_GOOD) {
        return cli_usage(command, "--topic must be 1 to 32 characters of A-Z a-z 0-9 - _");
    }
    *ret_topic = text;
    return CLI_OK;
}

int message_read_urgency(const char *command, const char *text, const char **ret_urgency)
{
    static const char *const words[] = {"very-low", "low", "normal", "high"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret_urgency = words[i];
            return CLI_OK;
        }
    }
    return cli_usage(command, "--urgency must be very-low, low, normal or high");
}

int message_read_padding(const char *command, const char *option, const char *text,
                         struct message_padding *ret_padding)
{
    uint64_t number = 0;
    ret_padding->is_random = strcmp(text, "random") == 0;
    int result = ret_padding->is_random
                     ? CLI_OK
                     : cli_read_count(command, option, text, 0, LULL_PUSH_TEXT_MAX, &number);
    ret_padding->bytes = (size_t)number;
    return result;
}

bool message_is_stdin(const char *value)
{
    return strcmp(value, "-") == 0 || strcmp(value, "@-") == 0;
}

int message_read_text(const char *command, const char *option, const char *value, size_t max,
                      struct message_text *ret_text)
{
    struct message_text text = {NULL, 0};
    if (*value == '@' || strcmp(value, "-") == 0) {
        const char *path = *value == '@' ? value + 1 : value;
        text.data = cli_read_file(command, "the body", path, max, &text.length);
        if (!text.data) {
            return CLI_USAGE;
        }
    } else {
        text.length = strlen(value);
        text.data = text.length <= max ? strdup(value) : NULL;
        if (!text.data) {
            return text.length <= max ? cli_usage(command, "there is not enough memory")
                                      : cli_usage(command, "--%s has %zu bytes, at most %zu fit",
                                                  option, text.length, max);
        }
    }
    *ret_text = text;
    return CLI_OK;
}

int message_read_subscription(const char *command, const char *path,
                              struct lull_subscription *ret_subscription,
                              struct message_text *ret_text)
{
    struct lull_webpush_error error;
    struct message_text text = {NULL, 0};
    text.data = cli_read_file(command, "the subscription", path, SUBSCRIPTION_MAX, &text.length);
    if (!text.data) {
        return CLI_USAGE;
    }
    int code = lull_subscription_parse(ret_subscription, text.data, text.length, &error);
    if (code == LULL_OK && ret_text) {
        *ret_text = text;
        return CLI_OK;
    }
    message_text_free(&text);
    return code == LULL_OK ? CLI_OK : cli_usage(command, "--to: %s", error.text);
}

void message_text_free(struct message_text *text)
{
    if (text->data) {
        OPENSSL_cleanse(text->data, text->length);
    }
    free(text->data);
    *text = (struct message_text){NULL, 0};
}

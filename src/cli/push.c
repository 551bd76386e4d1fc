/* push - `lull push`: messages into the queue of `lull serve`. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api_client.h"
#include "cli.h"
#include "lull/os.h"
#include "messages_print.h"
#include "push_batch.h"
#include "push_message.h"
#include "push_options.h"

#define POLL_FIRST_MS 50
#define POLL_MAX_MS 2000

enum push_exit {
    PUSH_DEAD = 5,
    PUSH_UNDECIDED = 6,
};

/* ---- the end of it ---- */

static int exit_of(const char *state)
{
    /* Gone by: delivered or replaced, so long ago that the server has forgotten which. */
    if (strcmp(state, "delivered") == 0 || strcmp(state, "gone_by") == 0) {
        return CLI_OK;
    }
    return strcmp(state, "dead") == 0 || strcmp(state, "replaced") == 0 ? PUSH_DEAD
                                                                        : PUSH_UNDECIDED;
}

static void tell_end(const struct api *api, json_t *message, int exit_code)
{
    const char *state = api_text(message, "state", "-");
    const char *reason = api_text(message, "reason", NULL);
    json_t *waiting = json_object_get(message, "waiting_for");
    if (exit_code == PUSH_UNDECIDED) {
        (void)api_say(api, "not delivered yet: %s", api_text(waiting, "text", state));
    } else if (exit_code != CLI_OK) {
        (void)api_say(api, "%s%s%s", state, reason ? ": " : "", reason ? reason : "");
    } else if (!api->is_quiet) {
        (void)api_say(api, "%s", state);
    }
}

/* Asks now and then, less and less often, until the message has ended or the time is over. */
static int wait_for_end(struct api *api, const struct push_options *options, const char *id)
{
    char path[API_MESSAGE_PATH_SIZE];
    int64_t end_ms = lull_os_mono_ms() + options->wait_ms;
    int64_t wait_ms = POLL_FIRST_MS;
    if (!api_message_path(id, path)) {
        (void)api_say(api, "the server gave an id that cannot be asked for");
        return API_NO_ANSWER;
    }
    for (;;) {
        struct api_answer answer;
        int code = api_ask(api, "GET", path, &answer);
        if (code != CLI_OK) {
            return code;
        }
        int64_t left_ms = end_ms - lull_os_mono_ms();
        code = exit_of(api_text(answer.json, "state", "-"));
        if (code != PUSH_UNDECIDED || left_ms <= 0) {
            tell_end(api, answer.json, code);
            if (options->is_json) {
                (void)api_print_json(answer.json);
            }
            api_answer_free(&answer);
            return code;
        }
        api_answer_free(&answer);
        cli_sleep(wait_ms < left_ms ? wait_ms : left_ms);
        wait_ms = wait_ms * 2 < POLL_MAX_MS ? wait_ms * 2 : POLL_MAX_MS;
    }
}

/* ---- one message ---- */

/* The id is what a script needs, so it is alone on standard output. */
static void tell_accepted(const struct api *api, const struct push_options *options,
                          struct api_answer *answer)
{
    const char *warning = api_text(answer->json, "warning", NULL);
    const char *replaced = api_text(answer->json, "replaced", NULL);
    if (warning) {
        (void)api_say(api, "warning: %s", warning);
    }
    if (options->is_json) {
        if (options->wait_ms == 0) {
            (void)api_print_json(answer->json);
        }
        return;
    }
    (void)puts(api_text(answer->json, "id", ""));
    if (!options->is_quiet) {
        (void)api_say(api, "accepted, %s%s%s", api_text(answer->json, "state", "-"),
                      replaced ? ", instead of " : "", replaced ? replaced : "");
    }
}

static int push_one(struct api *api, const struct push_options *options)
{
    struct message_text body = {NULL, 0};
    struct api_answer answer;
    char key[CLI_KEY_SIZE];
    cli_make_key(key);
    if (!push_message_write(options, &body)) {
        return api_say(api, "there is not enough memory, or a value is not UTF-8");
    }
    struct api_request request = {.method = "POST",
                                  .path = "/v1/messages",
                                  .content_type = "application/json",
                                  .body = body.data,
                                  .body_length = body.length,
                                  .idempotency_key =
                                      options->idempotency_key ? options->idempotency_key : key};
    int code = api_call(api, &request, &answer);
    message_text_free(&body);
    if (code != CLI_OK) {
        return code;
    }
    tell_accepted(api, options, &answer);
    if (options->wait_ms > 0) {
        (void)fflush(stdout); /* whoever reads the id need not wait */
        code = wait_for_end(api, options, api_text(answer.json, "id", ""));
    }
    api_answer_free(&answer);
    return code;
}

static int run(int argc, char **argv)
{
    struct push_options options;
    struct api api = {.command = "push"};
    int code = push_options_read(&options, argc, argv);
    if (code == CLI_OK && options.is_help) {
        fputs(push_help, stdout);
    } else if (code == CLI_OK) {
        code = api_open(&api, "push", &options.api);
        api.is_quiet = options.is_quiet;
        if (code == CLI_OK) {
            code = options.batch ? push_batch(&api, &options) : push_one(&api, &options);
        }
        api_close(&api);
    }
    push_options_free(&options);
    return code;
}

const struct cli_command cli_push = {
    .name = "push",
    .summary = "hand messages to 'lull serve', which delivers them",
    .help = push_help,
    .run = run,
};

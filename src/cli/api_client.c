/* api_client - see the header. SPDX-License-Identifier: MIT */
#include "api_client.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_print.h"
#include "cli.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "lull/retry.h"
#include "lull/version.h"

#define ANSWER_MAX ((size_t)64 << 20)
#define PATH_MAX_LENGTH 1024
#define MESSAGE_ID_MAX 64

/* A 409 is final but for the one that says: this very request is being worked on. An honest
 * Retry-After of a full queue may be long. */
static const char policy_text[] =
    "client cap=5s problem.urn:lull:problem:key-under-way=retry retry-after-max=15m";

int api_say(const struct api *api, const char *format, ...)
{
    va_list arguments;
    if (api->progress) {
        progress_clear(api->progress);
    }
    va_start(arguments, format);
    fprintf(stderr, "lull %s: ", api->command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return CLI_FAILED;
}

/* ---- opening ---- */

int api_open(struct api *api, const char *command, const struct api_options *options)
{
    struct lull_client_config config;
    *api = (struct api){
        .command = command, .max_time_ms = options->max_time_ms, .cacert = options->cacert};
    int result = api_target_find(&api->target, command, options);
    if (result != CLI_OK) {
        return result;
    }
    if (lull_policy_parse(&api->policy, policy_text, strlen(policy_text), NULL) != LULL_OK) {
        return api_say(api, "the policy of its own requests is wrong");
    }
    api->policy.retries = options->retries;
    lull_client_config_default(&config);
    config.has_budget = false; /* one request after the other, whose retries are counted anyway */
    config.has_breaker = false;
    return lull_client_new(&api->client, &config) == LULL_OK
               ? CLI_OK
               : api_say(api, "there is not enough memory");
}

void api_close(struct api *api)
{
    lull_client_destroy(api->client);
    explicit_bzero(api->target.token, sizeof api->target.token);
}

/* ---- one request ---- */

static void configure(void *userdata, CURL *easy)
{
    const struct api *api = userdata;
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "lull/" LULL_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* the token is for nobody else */
    if (*api->target.socket_path) {
        (void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, api->target.socket_path);
    }
    if (api->cacert) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, api->cacert);
    }
}

static bool before_wait(void *userdata, const struct lull_attempt *attempt)
{
    const struct api *api = userdata;
    if (!api->is_quiet) {
        if (api->progress) {
            progress_clear(api->progress);
        }
        call_print_retry(stderr, (struct call_place){api->command, 1, 1}, attempt);
    }
    return true;
}

static bool append_header(struct curl_slist **list, const char *name, const char *value)
{
    char line[API_TOKEN_SIZE + 64];
    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(*list, line);
    explicit_bzero(line, sizeof line);
    *list = longer ? longer : *list;
    return longer != NULL;
}

static bool make_headers(const struct api *api, const struct api_request *request,
                         struct curl_slist **list)
{
    char bearer[API_TOKEN_SIZE + 8];
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", api->target.token);
    bool is_good =
        append_header(list, "Accept", "application/json") &&
        (!*api->target.token || append_header(list, "Authorization", bearer)) &&
        (!request->content_type || append_header(list, "Content-Type", request->content_type));
    explicit_bzero(bearer, sizeof bearer);
    return is_good;
}

/* NULL: no memory, and it has been said. */
static struct lull_result *perform(struct api *api, const struct api_request *request)
{
    struct lull_result *result = NULL;
    char url[API_URL_SIZE + PATH_MAX_LENGTH];
    struct curl_slist *headers = NULL;
    struct lull_request call;
    (void)snprintf(url, sizeof url, "%s%s", api->target.base, request->path);
    lull_request_init(&call, url);
    call.method = request->method;
    call.policy = &api->policy;
    call.idempotency_key = request->idempotency_key;
    call.timeout_ms = api->max_time_ms;
    call.idle_timeout_ms = api->max_time_ms;
    call.body_max = ANSWER_MAX;
    call.hooks =
        (struct lull_hooks){.userdata = api, .before_wait = before_wait, .configure = configure};
    if (request->content_type) {
        call.body = (struct lull_body){.kind = LULL_BODY_MEMORY,
                                       .data = request->body,
                                       .length = (int64_t)request->body_length};
    }
    bool is_good = make_headers(api, request, &headers);
    call.headers = headers;
    is_good = is_good && lull_http_perform(api->client, &call, &result) == LULL_OK;
    curl_slist_free_all(headers);
    if (!is_good || !result) {
        (void)api_say(api, "there is not enough memory");
        return NULL;
    }
    return result;
}

/* Of a POST the status stands, and a body that broke off is for us to ask for again: the key makes
 * that safe. */
static bool is_broken_off(const struct lull_result *result)
{
    return result->verdict == LULL_VERDICT_DELIVERED && !result->is_body_complete;
}

static int perform_to_the_end(struct api *api, const struct api_request *request,
                              struct api_answer *answer)
{
    struct lull_retry retry;
    char text[CLI_DURATION_SIZE];
    answer->is_first = true;
    if (lull_retry_init(&retry, &api->policy, lull_os_seed(), lull_os_mono_ms()) != LULL_OK) {
        return api_say(api, "the policy of its own requests is wrong");
    }
    for (;;) {
        answer->result = perform(api, request);
        if (!answer->result) {
            return CLI_FAILED;
        }
        answer->is_first = answer->is_first && answer->result->attempt_count <= 1;
        if (!is_broken_off(answer->result)) {
            return CLI_OK;
        }
        int64_t wait_ms = lull_retry_after_failure(&retry, true, lull_os_mono_ms());
        if (wait_ms == LULL_NEVER) {
            return CLI_OK;
        }
        if (!api->is_quiet) {
            (void)api_say(api, "the answer broke off; again in %s",
                          cli_format_duration(wait_ms, text));
        }
        lull_result_free(answer->result);
        answer->result = NULL;
        answer->is_first = false;
        cli_sleep(wait_ms);
    }
}

/* ---- what came of it ---- */

static int tell_no_answer(const struct api *api, const struct lull_result *result)
{
    const struct lull_attempt *last =
        result->attempt_count > 0 ? &result->attempts[result->attempt_count - 1] : NULL;
    const char *where = *api->target.socket_path ? api->target.socket_path : api->target.base;
    const char *why =
        last ? lull_transport_to_string(last->transport) : lull_reason_to_string(result->reason);
    (void)api_say(api, "no answer from %s after %zu attempt%s: %s%s%s%s", where,
                  result->attempt_count, result->attempt_count == 1 ? "" : "s", why,
                  last && last->detail ? " (" : "", last && last->detail ? last->detail : "",
                  last && last->detail ? ")" : "");
    if (last && last->transport == LULL_TRANSPORT_REFUSED) {
        fputs("Is 'lull serve' running there? --server or LULL_SERVER says where it is.\n", stderr);
    }
    return API_NO_ANSWER;
}

/* The problem+json of a refusal as a sentence (RFC 9457). */
static int tell_refusal(const struct api *api, const struct api_answer *answer)
{
    char problem[API_PROBLEM_SIZE];
    const char *id = api_text(answer->json, "request_id", NULL);
    bool is_busy = answer->status == 429 || answer->status >= 500;
    if (!api_text(answer->json, "title", NULL)) {
        (void)api_say(api, "HTTP %u from %s, and no reason: is that 'lull serve'?", answer->status,
                      api->target.base);
    } else {
        (void)api_say(api, "the server %s it: %s%s%s%s", is_busy ? "could not take" : "refused",
                      api_problem(answer->json, answer->status, problem), id ? " [request " : "",
                      id ? id : "", id ? "]" : "");
    }
    if (answer->status == 401) {
        fputs("--token-file, LULL_TOKEN_FILE or LULL_TOKEN names the token.\n", stderr);
    }
    return is_busy ? API_NO_ANSWER : API_REFUSED;
}

int api_call(struct api *api, const struct api_request *request, struct api_answer *ret_answer)
{
    *ret_answer = (struct api_answer){.status = 0};
    int code = perform_to_the_end(api, request, ret_answer);
    if (code != CLI_OK) {
        return code;
    }
    const struct lull_result *result = ret_answer->result;
    ret_answer->status = result->status;
    if (result->body && (result->status > 299 || !request->is_answer_lines)) {
        ret_answer->json = json_loadb(result->body, result->body_length, 0, NULL);
    }
    if (result->status == 0) {
        code = tell_no_answer(api, result);
    } else if (result->status < 200 || result->status > 299) {
        code = tell_refusal(api, ret_answer);
    } else if (!result->is_body_complete || result->is_body_cut) {
        (void)api_say(api, "HTTP %u from %s, but its answer is incomplete", result->status,
                      api->target.base);
        code = API_NO_ANSWER;
    } else if (!request->is_answer_lines && !json_is_object(ret_answer->json)) {
        (void)api_say(api, "HTTP %u from %s, but no JSON: is that 'lull serve'?", result->status,
                      api->target.base);
        code = API_NO_ANSWER;
    }
    if (code != CLI_OK) {
        api_answer_free(ret_answer);
    }
    return code;
}

int api_ask(struct api *api, const char *method, const char *path, struct api_answer *ret_answer)
{
    struct api_request request = {.method = method, .path = path};
    return api_call(api, &request, ret_answer);
}

void api_answer_free(struct api_answer *answer)
{
    json_decref(answer->json);
    lull_result_free(answer->result);
    *answer = (struct api_answer){.status = 0};
}

bool api_message_path(const char *id, char path[API_MESSAGE_PATH_SIZE])
{
    size_t length = strlen(id);
    bool is_good = length > 0 && length <= MESSAGE_ID_MAX;
    for (size_t i = 0; is_good && i < length; i++) {
        is_good = isalnum((unsigned char)id[i]) || id[i] == '-' || id[i] == '_';
    }
    if (is_good) {
        (void)snprintf(path, API_MESSAGE_PATH_SIZE, "/v1/messages/%s", id);
    }
    return is_good;
}

/* ---- reading what came ---- */

/* In place, byte for byte, so that it stays UTF-8: C0, DEL, and C1 (0xc2 0x80 to 0x9f). */
static void clean(char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < ' ' || byte == 0x7f) {
            *text = '?';
        } else if (byte == 0xc2 && (unsigned char)text[1] < 0xa0) {
            text[0] = '?';
            text[1] = '?';
        }
    }
}

const char *api_text(json_t *json, const char *member, const char *fallback)
{
    char *text = (char *)json_string_value(json_object_get(json, member));
    if (!text) {
        return fallback;
    }
    clean(text);
    return text;
}

/* The last word of "urn:lull:problem:bad-request"; a line of a batch has none. */
const char *api_problem(json_t *problem, int64_t status, char buffer[API_PROBLEM_SIZE])
{
    const char *type = api_text(problem, "type", NULL);
    const char *colon = type ? strrchr(type, ':') : NULL;
    const char *member = api_text(problem, "member", NULL);
    const char *text = api_text(problem, "detail", api_text(problem, "title", "no reason"));
    (void)snprintf(buffer, API_PROBLEM_SIZE, "%s (HTTP %" PRId64 "%s%s%s%s)", text, status,
                   colon ? " " : "", colon ? colon + 1 : "", member ? ", member " : "",
                   member ? member : "");
    return buffer;
}

int64_t api_number(const json_t *json, const char *member, int64_t fallback)
{
    const json_t *number = json_object_get(json, member);
    return json_is_integer(number) ? (int64_t)json_integer_value(number) : fallback;
}

bool api_print_json(const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    bool is_good = text && puts(text) >= 0;
    free(text);
    return is_good;
}

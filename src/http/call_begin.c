/* call_begin - a request as a call that nothing has happened to yet. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "client.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "multi.h"
#include "result.h"

#define BODY_MAX_DEFAULT (16U << 20)

void lull_request_init(struct lull_request *request, const char *url)
{
    *request = (struct lull_request){
        .url = url,
        .kind = LULL_KIND_REQUEST,
        .ttl_ms = LULL_TTL_DEFAULT,
        .connect_timeout_ms = LULL_SECONDS(10),
        .idle_timeout_ms = LULL_SECONDS(30),
        .body_max = BODY_MAX_DEFAULT,
        .body = {.fd = -1},
    };
}

static bool is_possible(const struct lull_request *request)
{
    const struct lull_body *body = &request->body;
    if (!request->url && !request->easy) {
        return false;
    }
    if (request->deadline_ms < 0 || request->timeout_ms < 0 || request->connect_timeout_ms < 0 ||
        request->idle_timeout_ms < 0 || !request->sink.begin != !request->sink.write) {
        return false;
    }
    if ((unsigned)request->kind > LULL_KIND_REQUEST ||
        (request->ttl_ms < 0 && request->ttl_ms != LULL_TTL_DEFAULT)) {
        return false;
    }
    switch (body->kind) {
    case LULL_BODY_NONE:
        return true;
    case LULL_BODY_MEMORY:
        return body->length >= 0 && (body->data || body->length == 0);
    case LULL_BODY_FILE:
        return body->fd >= 0 && body->offset >= 0;
    case LULL_BODY_CALLBACK:
        return body->read != NULL;
    default:
        return false;
    }
}

static void begin_facts(struct call *call)
{
    const struct lull_request *request = &call->request;
    struct lull_facts *facts = &call->facts;
    lull_facts_init(facts, call->policy, 0);
    facts->kind = request->kind;
    facts->ttl_ms = request->ttl_ms;
    facts->vendor = call->origin.vendor;
    facts->has_idempotency_key = request->idempotency_key != NULL;
    facts->is_repeatable = request->is_repeatable;
    facts->incoming_attempt = request->incoming_attempt;
    call->has_method = request->method || !request->easy;
    facts->method = LULL_METHOD_OTHER; /* the careful side, until it is known */
    if (request->method) {
        facts->method = lull_method_from_string(request->method);
    } else if (!request->easy) {
        facts->method = request->body.kind == LULL_BODY_NONE ? LULL_METHOD_GET : LULL_METHOD_POST;
    }
}

static const char *url_of(const struct lull_request *request)
{
    char *url = NULL;
    if (request->url) {
        return request->url;
    }
    (void)curl_easy_getinfo(request->easy, CURLINFO_EFFECTIVE_URL, &url);
    return url ? url : "";
}

int call_init(struct call *call, struct lull_multi *multi, struct lull_client *client,
              const struct lull_request *request)
{
    const struct lull_policy *policy = request->policy ? request->policy : client_policy(client);
    if (!is_possible(request) ||
        (request->policy && lull_policy_validate(request->policy, NULL) != LULL_OK)) {
        return LULL_ERR_RANGE;
    }
    struct lull_result *result = result_new();
    struct lull_policy *own_policy = request->deadline_ms > 0 ? malloc(sizeof *own_policy) : NULL;
    if (!result || (request->deadline_ms > 0 && !own_policy)) {
        lull_result_free(result);
        free(own_policy);
        return LULL_ERR_MEMORY;
    }
    memset(call, 0, offsetof(struct call, last)); /* whose buffers serve again */
    response_clear(&call->last);
    call->multi = multi;
    call->client = client;
    call->request = *request;
    call->result = result;
    call->policy = policy;
    call->own_policy = own_policy;
    if (own_policy) {
        *own_policy = *policy;
        own_policy->deadline_ms = request->deadline_ms;
        call->policy = own_policy;
    }
    call->origin = multi_origin(multi, url_of(request));
    call->start_ms = lull_os_mono_ms();
    begin_facts(call);
    return LULL_OK;
}

void call_clean_up(struct call *call)
{
    free(call->own_policy);
    call->own_policy = NULL;
}

void call_free(struct call *call)
{
    if (call) {
        response_free(&call->last);
        free(call);
    }
}

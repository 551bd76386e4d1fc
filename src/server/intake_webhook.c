/* intake_webhook - what is special about a webhook: URL, method, headers, signer (W4).
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "fold.h"
#include "header_names.h"
#include "header_rules.h"
#include "intake_draft.h"
#include "json_member.h"
#include "lull/error.h"

#define CONTENT_TYPE_MAX 256
#define HEADER_BYTES_MAX                                                                           \
    32768 /* with what is added in sending it stays below the transport's limit */

enum member { URL, METHOD, HEADERS, CONTENT_TYPE, SIGN, MEMBERS };

static const char *const names[MEMBERS] = {"url", "method", "headers", "content_type", "sign"};

/* ---- headers ---- */

/* Those that Lull writes itself. */
static bool is_ours(const struct lull_header *header)
{
    static const struct header_name ours[] = {
        HEADER_NAME("content-type"),      HEADER_NAME("idempotency-key"),
        HEADER_NAME("lull-attempt"),      HEADER_NAME("traceparent"),
        HEADER_NAME("webhook-id"),        HEADER_NAME("webhook-timestamp"),
        HEADER_NAME("webhook-signature"), HEADER_NAME("user-agent"),
    };
    return header_is_one_of(header, ours, sizeof ours / sizeof ours[0]);
}

static int refuse_header(struct intake_draft *draft, const char *why)
{
    return intake_refuse(draft->problem, LULL_ERR_RANGE, "webhook.headers", "%s", why);
}

static bool is_said_before(const struct envelope *envelope, const struct lull_header *header)
{
    for (size_t i = 0; i < envelope->header_count; i++) {
        if (envelope->headers[i].name_length == header->name_length &&
            memcmp(envelope->headers[i].name, header->name, header->name_length) == 0) {
            return true;
        }
    }
    return false;
}

static int check_header(struct intake_draft *draft, const struct lull_header *header)
{
    char sentence[sizeof draft->problem->detail];
    const char *why = NULL;
    if (header_is_about_connection(header)) {
        why = "is about the connection";
    } else if (is_ours(header)) {
        why = "is set by Lull; content_type, idempotency_key and sign are members of their own";
    } else if (is_said_before(&draft->envelope, header)) {
        why = "is there twice";
    } else if (!header_is_value_good(header->value, header->value_length)) {
        why = "has a value with a control character, or a blank at an end";
    } else {
        return LULL_OK;
    }
    (void)snprintf(sentence, sizeof sentence, "webhook.headers: %s %s", header->name, why);
    return refuse_header(draft, sentence);
}

static int read_header(struct intake_draft *draft, const char *name, const json_t *value)
{
    struct envelope *envelope = &draft->envelope;
    size_t name_length = strlen(name);
    if (envelope->header_count == ENVELOPE_HEADERS_MAX) {
        return refuse_header(draft, "webhook.headers has more than 32 headers");
    }
    if (!json_member_word(value)) {
        return refuse_header(draft, "webhook.headers must have strings as values, without NUL");
    }
    if (name_length > INTAKE_HEADER_NAME_MAX) {
        return refuse_header(draft, "webhook.headers has a name of more than 128 characters");
    }
    char *lower = draft->intake->header_names[envelope->header_count];
    fold_copy(lower, name, name_length + 1);
    struct lull_header header = {
        .name = lower,
        .name_length = name_length,
        .value = json_string_value(value),
        .value_length = json_string_length(value),
    };
    if (!header_is_name_good(&header)) {
        return refuse_header(draft,
                             "webhook.headers has a name with a character that no header may have");
    }
    int code = check_header(draft, &header);
    if (code == LULL_OK) {
        envelope->headers[envelope->header_count++] = header;
    }
    return code;
}

static int read_headers(struct intake_draft *draft, const json_t *object)
{
    size_t bytes = 0;
    if (object && !json_is_object(object)) {
        return intake_refuse(draft->problem, LULL_ERR_SYNTAX, "webhook.headers",
                             "webhook.headers must be an object of names and values");
    }
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        const json_t *value = json_object_iter_value(at);
        int code = read_header(draft, json_object_iter_key(at), value);
        if (code != LULL_OK) {
            return code;
        }
        bytes += strlen(json_object_iter_key(at)) + json_string_length(value);
    }
    if (bytes > HEADER_BYTES_MAX) {
        return intake_refuse_size(draft->problem, "webhook.headers",
                                  "webhook.headers has %zu bytes, at most %d are accepted", bytes,
                                  HEADER_BYTES_MAX);
    }
    return LULL_OK;
}

/* ---- the others ---- */

static int read_url(struct intake_draft *draft, const json_t *value)
{
    const char *url = NULL;
    if (!value) {
        return intake_refuse(draft->problem, LULL_ERR_SYNTAX, "webhook.url",
                             "webhook.url is missing");
    }
    int code = json_member_text(value, "webhook.url", INTAKE_URL_MAX, &url, draft->problem);
    draft->envelope.url = url;
    return code != LULL_OK
               ? code
               : intake_target_read(&draft->target, draft->intake->config, LULL_KIND_WEBHOOK, url,
                                    "webhook.url", draft->problem);
}

static int read_method(struct intake_draft *draft, const json_t *value)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH"};
    const char *word = value ? json_member_word(value) : "POST";
    for (size_t i = 0; word && i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(word, methods[i]) == 0) {
            draft->envelope.method = methods[i];
            return LULL_OK;
        }
    }
    return intake_refuse(draft->problem, LULL_ERR_RANGE, "webhook.method",
                         "webhook.method must be POST, PUT or PATCH");
}

static int read_content_type(struct intake_draft *draft, const json_t *value)
{
    return value ? json_member_ascii(value, "webhook.content_type", CONTENT_TYPE_MAX,
                                     &draft->envelope.content_type, draft->problem)
                 : LULL_OK;
}

static int read_signer(struct intake_draft *draft, const json_t *value)
{
    const char *name = NULL;
    int code =
        value ? json_member_text(value, "webhook.sign", CONFIG_NAME_SIZE - 1, &name, draft->problem)
              : LULL_OK;
    if (code != LULL_OK || !value) {
        return code;
    }
    const struct config_signer *signer = config_find_signer(draft->intake->config, name);
    if (!signer) {
        return intake_refuse(draft->problem, LULL_ERR_UNKNOWN, "webhook.sign",
                             "webhook.sign must be the name of a webhook_secret of the "
                             "configuration");
    }
    draft->envelope.signer = signer->name;
    return LULL_OK;
}

int intake_read_webhook(struct intake_draft *draft)
{
    static const struct json_names list = {"webhook.", names, MEMBERS};
    const json_t *object = draft->members[INTAKE_WEBHOOK];
    const json_t *members[MEMBERS];
    if (!json_is_object(object)) {
        return intake_refuse(draft->problem, LULL_ERR_SYNTAX, "webhook",
                             "webhook must be an object with url");
    }
    int code = json_member_sort(object, &list, members, draft->problem);
    code = code != LULL_OK ? code : read_url(draft, members[URL]);
    code = code != LULL_OK ? code : read_method(draft, members[METHOD]);
    code = code != LULL_OK ? code : read_headers(draft, members[HEADERS]);
    code = code != LULL_OK ? code : read_content_type(draft, members[CONTENT_TYPE]);
    return code != LULL_OK ? code : read_signer(draft, members[SIGN]);
}

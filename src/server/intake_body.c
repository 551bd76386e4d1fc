/* intake_body - the body in one of its three forms: text, base64, JSON. SPDX-License-Identifier:
 * MIT
 */
#include <stdlib.h>
#include <string.h>

#include "intake_draft.h"
#include "json_verbatim.h"
#include "lull/error.h"
#include "lull/webpush.h"

/* Room that stays the intake's, for a body that is not in the JSON as it is sent. */
static bool make_room(struct intake *intake, size_t size)
{
    if (size > intake->scratch_size) {
        uint8_t *larger = malloc(size); /* not realloc: what is there needs no copy */
        if (!larger) {
            return false;
        }
        free(intake->scratch);
        intake->scratch = larger;
        intake->scratch_size = size;
    }
    return true;
}

static int read_text(struct intake_draft *draft, const json_t *value)
{
    draft->body = json_string_value(value);
    draft->body_length = json_string_length(value);
    return draft->body ? LULL_OK
                       : intake_refuse(draft->problem, LULL_ERR_SYNTAX, "body",
                                       "body must be a string; other values go into json, bytes "
                                       "into body_base64");
}

static int read_base64(struct intake_draft *draft, const json_t *value)
{
    struct intake *intake = draft->intake;
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (text && !make_room(intake, length + 1)) {
        return LULL_ERR_MEMORY;
    }
    if (!text || lull_base64_decode(text, length, intake->scratch, length + 1,
                                    &draft->body_length) != LULL_OK) {
        return intake_refuse(draft->problem, LULL_ERR_SYNTAX, "body_base64",
                             "body_base64 must be a string of base64 or base64url");
    }
    draft->body = intake->scratch;
    return LULL_OK;
}

static size_t index_of(const json_t *object, const char *name)
{
    size_t index = 0;
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        if (strcmp(json_object_iter_key(at), name) == 0) {
            return index;
        }
        index++;
    }
    return index;
}

static int read_json(struct intake_draft *draft, const json_t *value)
{
    (void)value; /* as it was written, not as it was read */
    struct intake *intake = draft->intake;
    if (!make_room(intake, draft->length)) {
        return LULL_ERR_MEMORY;
    }
    draft->body = intake->scratch;
    draft->body_length = json_verbatim(draft->text, draft->length, index_of(draft->object, "json"),
                                       (char *)intake->scratch);
    return LULL_OK;
}

static const struct {
    enum intake_member member;
    const char *content_type; /* of a webhook that says none */
    int (*read)(struct intake_draft *draft, const json_t *value);
} forms[] = {
    {INTAKE_BODY, "text/plain; charset=utf-8", read_text},
    {INTAKE_BODY_BASE64, "application/octet-stream", read_base64},
    {INTAKE_JSON, "application/json", read_json},
};

int intake_read_body(struct intake_draft *draft)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const json_t *value = draft->members[forms[i].member];
        if (!value) {
            continue;
        }
        if (draft->has_body) {
            return intake_refuse(draft->problem, LULL_ERR_SYNTAX,
                                 intake_member_name(forms[i].member),
                                 "only one of body, body_base64 and json may be there");
        }
        draft->has_body = true;
        draft->body_member = forms[i].member;
        if (draft->kind == LULL_KIND_WEBHOOK && !*draft->envelope.content_type) {
            draft->envelope.content_type = forms[i].content_type;
        }
        int code = forms[i].read(draft, value);
        if (code != LULL_OK) {
            return code;
        }
    }
    return LULL_OK;
}

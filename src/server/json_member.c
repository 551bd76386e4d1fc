/* json_member - see the header. SPDX-License-Identifier: MIT */
#include "json_member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lull/error.h"
#include "visible.h"

#define NAME_SHOWN_MAX 40

/* A name that is not ours is repeated if it looks like one: it may be anything. */
static bool is_name_shown(const char *name)
{
    static const char usual[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strlen(name);
    return length > 0 && length <= NAME_SHOWN_MAX && strspn(name, usual) == length;
}

static int refuse_name(const struct json_names *names, const char *name,
                       struct intake_problem *problem)
{
    char member[sizeof problem->member] = "";
    char known[sizeof problem->detail] = "";
    size_t length = 0;
    for (size_t i = 0; i < names->count && length < sizeof known; i++) {
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "",
                                   names->names[i]);
    }
    if (!is_name_shown(name)) {
        return intake_refuse(problem, LULL_ERR_UNKNOWN, "",
                             "there is a member with a name that is not known; known are %s",
                             known);
    }
    (void)snprintf(member, sizeof member, "%s%s", names->prefix, name);
    return intake_refuse(problem, LULL_ERR_UNKNOWN, member, "%s is not known; known are %s", member,
                         known);
}

int json_member_sort(const json_t *object, const struct json_names *names,
                     const json_t **ret_members, struct intake_problem *problem)
{
    for (size_t i = 0; i < names->count; i++) {
        ret_members[i] = NULL;
    }
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        const char *name = json_object_iter_key(at);
        size_t i = 0;
        while (i < names->count && strcmp(name, names->names[i]) != 0) {
            i++;
        }
        if (i == names->count) {
            return refuse_name(names, name, problem);
        }
        ret_members[i] = json_object_iter_value(at);
    }
    return LULL_OK;
}

const char *json_member_word(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

int json_member_text(const json_t *value, const char *member, size_t length_max,
                     const char **ret_text, struct intake_problem *problem)
{
    const char *text = json_member_word(value);
    if (!text || *text == '\0' || json_string_length(value) > length_max) {
        return intake_refuse(problem, text ? LULL_ERR_RANGE : LULL_ERR_SYNTAX, member,
                             "%s must be a string of 1 to %zu characters", member, length_max);
    }
    *ret_text = text;
    return LULL_OK;
}

bool json_is_ascii(const char *text, size_t length_max)
{
    size_t length = strlen(text);
    return length > 0 && length <= length_max && text[0] != ' ' && text[length - 1] != ' ' &&
           visible_is_clean(text, length, ' ', true);
}

int json_member_ascii(const json_t *value, const char *member, size_t length_max,
                      const char **ret_text, struct intake_problem *problem)
{
    const char *text = "";
    int code = json_member_text(value, member, length_max, &text, problem);
    if (code == LULL_OK && !json_is_ascii(text, length_max)) {
        return intake_refuse(
            problem, LULL_ERR_RANGE, member,
            "%s must be 1 to %zu characters of printable ASCII, without a space at "
            "either end",
            member, length_max);
    }
    if (code == LULL_OK) {
        *ret_text = text;
    }
    return code;
}

int json_member_count(const json_t *value, const char *member, int64_t max, const char *what,
                      int64_t *ret_count, struct intake_problem *problem)
{
    int64_t count = json_integer_value(value);
    if (!json_is_integer(value) || count < 0 || count > max) {
        return intake_refuse(problem, json_is_integer(value) ? LULL_ERR_RANGE : LULL_ERR_SYNTAX,
                             member, "%s must be a whole number of %s from 0 to %" PRId64, member,
                             what, max);
    }
    *ret_count = count;
    return LULL_OK;
}

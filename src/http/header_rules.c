/* header_rules - see the header. SPDX-License-Identifier: MIT */
#include "header_rules.h"

#include "header_names.h"
#include "visible.h"

bool header_is_about_connection(const struct lull_header *header)
{
    static const struct header_name names[] = {
        HEADER_NAME("connection"), HEADER_NAME("content-length"), HEADER_NAME("expect"),
        HEADER_NAME("host"),       HEADER_NAME("keep-alive"),     HEADER_NAME("proxy-connection"),
        HEADER_NAME("te"),         HEADER_NAME("upgrade"),        HEADER_NAME("transfer-encoding")};
    return header_is_one_of(header, names, sizeof names / sizeof *names);
}

bool header_is_name_good(const struct lull_header *header)
{
    static const bool is_good[256] = {
        ['a' ... 'z'] = true, ['0' ... '9'] = true, ['!'] = true,  ['#'] = true, ['$'] = true,
        ['%'] = true,         ['&'] = true,         ['\''] = true, ['*'] = true, ['+'] = true,
        ['-'] = true,         ['.'] = true,         ['^'] = true,  ['_'] = true, ['`'] = true,
        ['|'] = true,         ['~'] = true,
    };
    for (size_t i = 0; i < header->name_length; i++) {
        if (!is_good[(unsigned char)header->name[i]]) {
            return false;
        }
    }
    return header->name_length > 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool header_is_value_good(const char *value, size_t length)
{
    if (length == 0) {
        return true;
    }
    if (is_blank(value[0]) || is_blank(value[length - 1])) {
        return false;
    }
    if (visible_is_clean(value, length, ' ', false)) {
        return true;
    }
    for (size_t i = 0; i < length; i++) { /* it may be a tab */
        unsigned char c = (unsigned char)value[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

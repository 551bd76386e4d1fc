/* refuse_json - why jansson read nothing, without its own words: they repeat a part of the text. */
#ifndef LULL_WEBPUSH_REFUSE_JSON_H
#define LULL_WEBPUSH_REFUSE_JSON_H

#include <jansson.h>

#include "refuse.h"

static inline int refuse_json(struct lull_webpush_error *error, const json_error_t *where)
{
    /* Where an allocation fails, jansson mostly says nothing at all. */
    if (where->text[0] == '\0' || json_error_code(where) == json_error_out_of_memory) {
        return refuse_memory(error);
    }
    return refuse(error, LULL_ERR_SYNTAX, "not valid JSON, or a name twice, at line %d, column %d",
                  where->line, where->column);
}

#endif

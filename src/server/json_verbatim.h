/*
 * json_verbatim - a member's value as it stood in the text, without the white space between tokens.
 *
 * A number goes out as it came in: read and written again, 1.1 would become 1.1000000000000001.
 * Pure.
 */
#ifndef LULL_SERVER_JSON_VERBATIM_H
#define LULL_SERVER_JSON_VERBATIM_H

#include <stddef.h>

/* text is one object that jansson has accepted, with more members than index. Writes the value of
 * that member, counted from 0 as they stand, to `to`, which has room for length bytes. Returns its
 * length; 0 if the text was not of that kind after all. */
size_t json_verbatim(const char *text, size_t length, size_t index, char *to);

#endif

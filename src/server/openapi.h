/* openapi - docs/openapi.yaml, as it was when this was built; see scripts/embed. */
#ifndef LULL_SERVER_OPENAPI_H
#define LULL_SERVER_OPENAPI_H

#include <stddef.h>

extern const unsigned char openapi_yaml[];
extern const size_t openapi_yaml_length;

#endif

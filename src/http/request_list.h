/* request_list - requests of the transport in a row, linked by own.next and own.previous: each is
 * in one such list at a time. Zeroed memory is an empty list. */
#ifndef LULL_HTTP_REQUEST_LIST_H
#define LULL_HTTP_REQUEST_LIST_H

#include <stddef.h>

#include "transport.h"

struct request_list {
    struct transport_request *first;
    struct transport_request *last;
    size_t count;
};

void request_list_append(struct request_list *list, struct transport_request *request);
void request_list_prepend(struct request_list *list, struct transport_request *request);
void request_list_remove(struct request_list *list, struct transport_request *request);

#endif

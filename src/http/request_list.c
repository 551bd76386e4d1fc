/* request_list - see the header. SPDX-License-Identifier: MIT */
#include "request_list.h"

void request_list_append(struct request_list *list, struct transport_request *request)
{
    request->own.next = NULL;
    request->own.previous = list->last;
    if (list->last) {
        list->last->own.next = request;
    } else {
        list->first = request;
    }
    list->last = request;
    list->count++;
}

void request_list_prepend(struct request_list *list, struct transport_request *request)
{
    request->own.previous = NULL;
    request->own.next = list->first;
    if (list->first) {
        list->first->own.previous = request;
    } else {
        list->last = request;
    }
    list->first = request;
    list->count++;
}

void request_list_remove(struct request_list *list, struct transport_request *request)
{
    if (request->own.previous) {
        request->own.previous->own.next = request->own.next;
    } else {
        list->first = request->own.next;
    }
    if (request->own.next) {
        request->own.next->own.previous = request->own.previous;
    } else {
        list->last = request->own.previous;
    }
    list->count--;
}

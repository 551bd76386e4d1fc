/* departed_list - see the header. SPDX-License-Identifier: MIT */
#include "departed.h"

#include <stdlib.h>

bool departed_init(struct departed_list *list, uint32_t size)
{
    *list = (struct departed_list){.size = size};
    list->ring = size > 0 ? calloc(size, sizeof *list->ring) : NULL;
    return number_table_init(&list->by_id, size) && (list->ring || size == 0);
}

void departed_clean_up(struct departed_list *list)
{
    for (uint32_t i = 0; list->ring && i < list->size; i++) {
        message_free(list->ring[i].message);
    }
    free(list->ring);
    number_table_clean_up(&list->by_id);
}

void departed_add(struct departed_list *list, const struct departed *departed)
{
    if (list->size == 0) {
        message_free(departed->message);
        return;
    }
    struct departed *place = &list->ring[list->next];
    if (place->id != 0 && number_table_find(&list->by_id, place->id) == list->next) {
        number_table_remove(&list->by_id, place->id);
    }
    message_free(place->message);
    *place = *departed;
    number_table_set(&list->by_id, departed->id, list->next);
    list->next = (list->next + 1) % list->size;
}

const struct departed *departed_find(const struct departed_list *list, uint64_t id)
{
    uint32_t place = list->size > 0 ? number_table_find(&list->by_id, id) : NUMBER_TABLE_NONE;
    return place != NUMBER_TABLE_NONE ? &list->ring[place] : NULL;
}

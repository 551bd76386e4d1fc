/* config_number - the numbers of lull.conf as text: counts, sizes, durations, yes and no. */
#ifndef LULL_SERVER_CONFIG_NUMBER_H
#define LULL_SERVER_CONFIG_NUMBER_H

#include <stdint.h>

#include "config_keys.h"

/* NULL if it was read, else what is accepted: "a whole number". Huge ones saturate. */
const char *config_number_read(enum config_kind kind, const char *text, int64_t *ret_number);

/* In the largest unit that leaves a whole number: 30s, 256MiB. */
const char *config_number_write(enum config_kind kind, int64_t number,
                                char buffer[CONFIG_NUMBER_SIZE]);

#endif

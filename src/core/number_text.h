/* number_text - how numbers and durations are written, in policies and in the configuration. */
#ifndef LULL_CORE_NUMBER_TEXT_H
#define LULL_CORE_NUMBER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

/* The digits at the front, and what stands behind them. Huge values saturate. False: no digit. */
bool number_split(struct text text, int64_t *ret_number, struct text *ret_rest);

/* 500ms, 30s, 5m, 1h, 2d, or 0. */
bool number_duration(struct text text, int64_t *ret_ms);

#define NUMBER_DURATION_FORM "a duration like 500ms, 30s, 5m, 1h or 2d"

#endif

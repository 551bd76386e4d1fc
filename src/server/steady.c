/* steady - see the header. SPDX-License-Identifier: MIT */
#include "steady.h"

#define FOLLOW_BACK                                                                                \
    10 /* a tenth of the time that goes by: waits get longer, which harms nobody                   \
        */
#define FOLLOW_AHEAD                                                                               \
    2000 /* as slowly as clocks are set by daemons: waits must not get shorter (A3) */

void steady_init(struct steady *steady, int64_t wall_ms, int64_t mono_ms)
{
    *steady = (struct steady){.now_ms = wall_ms, .mono_ms = mono_ms};
}

int64_t steady_now_ms(struct steady *steady, int64_t wall_ms, int64_t mono_ms)
{
    int64_t passed_ms = mono_ms > steady->mono_ms ? mono_ms - steady->mono_ms : 0;
    int64_t off_ms = wall_ms - (steady->now_ms + passed_ms);
    int64_t divisor = off_ms > 0 ? FOLLOW_AHEAD : FOLLOW_BACK;
    int64_t step = passed_ms + steady->rest % divisor; /* the rest may be of the other direction */
    int64_t most_ms = step / divisor < passed_ms ? step / divisor : passed_ms;
    int64_t follow_ms = off_ms > most_ms ? most_ms : off_ms < -most_ms ? -most_ms : off_ms;
    /* Small steps add up, as long as there is something to follow. */
    steady->rest = off_ms == 0 ? 0 : step % divisor;
    steady->now_ms += passed_ms + follow_ms;
    steady->mono_ms += passed_ms;
    return steady->now_ms;
}

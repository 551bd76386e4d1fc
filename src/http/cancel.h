/* cancel - the calls that a token can stop. */
#ifndef LULL_HTTP_CANCEL_H
#define LULL_HTTP_CANCEL_H

#include "call.h"

/* Both do nothing for a call without a token. A token that was signalled before cancels at once. */
void cancel_add(struct call *call);
void cancel_remove(struct call *call);

#endif

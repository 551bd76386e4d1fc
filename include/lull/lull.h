/*
 * lull - all of liblull. Each header can also be included alone.
 */
#ifndef LULL_LULL_H
#define LULL_LULL_H

#include "lull/backoff.h"
#include "lull/breaker.h"
#include "lull/bucket.h"
#include "lull/budget.h"
#include "lull/classify.h"
#include "lull/decide.h"
#include "lull/destination.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/http_date.h"
#include "lull/incoming.h"
#include "lull/key_guard.h"
#include "lull/latency.h"
#include "lull/os.h"
#include "lull/outcome.h"
#include "lull/pacer.h"
#include "lull/policy.h"
#include "lull/random.h"
#include "lull/rate.h"
#include "lull/retry.h"
#include "lull/retry_after.h"
#include "lull/scope.h"
#include "lull/service.h"
#include "lull/trace_context.h"
#include "lull/vendor.h"
#include "lull/version.h"
#include "lull/window.h"

#endif

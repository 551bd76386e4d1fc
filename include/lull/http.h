/*
 * http - an HTTP request with all of Lull's restraint, on libcurl (H1). Library: liblull-http.
 *
 * A client remembers each destination (scheme, host and port): its retry budget, its breaker, how
 * long it takes to answer. One client is shared by all threads of a program.
 *
 * Blocking:
 *   lull_client_new -> { lull_request_init, lull_http_perform, lull_result_free } ...
 *                   -> lull_client_destroy
 * On an event loop, where no thread ever sleeps:
 *   lull_multi_new(client, your CURLM) -> lull_multi_add ... ; after curl has moved the transfers,
 *   lull_multi_step, and call it again after as many ms as it says
 *
 * Pushes and webhooks (`kind`) do not go by libcurl where they can go by HTTP/2 of our own: that is
 * several times cheaper, and exact about what a server has taken. Origins that speak HTTP/1.1 only,
 * and proxies, are libcurl's. On an event loop, watch lull_multi_fd for them.
 *
 * Every request that leaves the machine is an attempt that was decided on. libcurl's own silent
 * repeats (a reused connection that had died, a refused HTTP/2 stream) are stopped and decided on
 * like any other failure: a POST without a key is never sent twice behind the caller's back (C9).
 *
 * curl_global_init is called by lull_client_new. All strings of a request are borrowed until its
 * result is there. All strings of a result belong to it.
 */
#ifndef LULL_HTTP_H
#define LULL_HTTP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/breaker.h"
#include "lull/budget.h"
#include "lull/decide.h"
#include "lull/outcome.h"
#include "lull/policy.h"

LULL_BEGIN_DECLS

struct lull_client;
struct lull_multi;
struct lull_cancel;

/* ---- the client ---- */

struct lull_client_config {
    struct lull_policy policy;          /* of requests without one            default `client` */
    bool has_budget;                    /* G1 to G4                           default true */
    struct lull_budget_config budget;   /*                                    default its own */
    bool has_breaker;                   /* K5                                 default true */
    struct lull_breaker_config breaker; /*                                    default its own */
    uint32_t destinations_max;          /* remembered at once                 default 256 */
    const char *attempt_header;         /* sent with each retry (G7); "": none
                                                                        default "Lull-Attempt" */
    const char *ca_file;        /* PEM of whom to trust, for requests without easy; NULL: the
                                   system's                           default NULL */
    uint32_t hedge_permille;    /* a hedge is sent after this percentile
                                                                default 950 */
    uint32_t hedge_samples_min; /* answers seen before one is sent    default 20 */
};

LULL_API void lull_client_config_default(struct lull_client_config *config);

/* NULL: all defaults. LULL_ERR_RANGE for a bad policy, budget or breaker; LULL_ERR_MEMORY. */
LULL_API int lull_client_new(struct lull_client **ret_client,
                             const struct lull_client_config *config);

/* When no request of it is under way and all its multis are destroyed. NULL is fine. */
LULL_API void lull_client_destroy(struct lull_client *client);

/* What the client knows of the destination of this URL, for a status page or a log. */
struct lull_destination_state {
    enum lull_breaker_state breaker;
    int64_t breaker_wait_ms; /* it keeps everybody out for so long; 0: ask */
    uint64_t budget_left;    /* retries */
    int64_t p95_us;          /* time to the first byte; -1: not known yet */
};

LULL_API struct lull_destination_state lull_client_inspect(struct lull_client *client,
                                                           const char *url);

/* ---- the request ---- */

enum lull_body_kind {
    LULL_BODY_NONE,
    LULL_BODY_MEMORY,   /* data, length */
    LULL_BODY_FILE,     /* fd, offset, length: read by pread, so fd can be shared */
    LULL_BODY_CALLBACK, /* read, rewind, userdata, length */
};

struct lull_body {
    enum lull_body_kind kind;
    const void *data;
    int64_t length; /* FILE: -1 is up to the end; CALLBACK: -1 is unknown */
    int fd;
    int64_t offset;
    void *userdata;
    /* As many bytes as there are, up to size; 0 at the end, -1 on an error. */
    int64_t (*read)(void *userdata, char *buffer, size_t size);
    /* Back to the start; false: impossible. NULL: it can be read only once, so that a failure after
     * its first byte cannot be retried (reason body_spent). */
    bool (*rewind)(void *userdata);
};

/* The head of a response, before its body. Borrowed for the time of the call. */
struct lull_response {
    unsigned status;
    const struct lull_header *headers;
    size_t header_count;
};

/* Where the body of the response goes. All NULL: it is kept in the result, up to body_max.
 * Only the response that the caller gets is written here, never that of an attempt that is retried;
 * but a body that breaks off can make the same response begin again. */
struct lull_sink {
    void *userdata;
    /* Once before the first byte, also if there is none. is_again: drop what was written. */
    bool (*begin)(void *userdata, const struct lull_response *response, bool is_again);
    bool (*write)(void *userdata, const char *data, size_t length); /* false: stop */
    /* Could what was written still be dropped? NULL or false: a body that broke off after its first
     * byte was written is not fetched again. */
    bool (*can_restart)(void *userdata);
};

struct lull_attempt {
    uint32_t number;               /* from 1; a hedge has the number of the attempt that it helps */
    bool is_hedge;                 /* a second request while the first was slow */
    bool is_abandoned;             /* the other one answered first */
    unsigned status;               /* 0: none arrived */
    CURLcode code;                 /* what libcurl said, or would have said */
    const char *detail;            /* why there is no answer, or only a part of one, in a few words
                                      that last for ever; NULL: there is one */
    enum lull_transport transport; /* NONE if a status arrived and stands */
    enum lull_class class_;
    enum lull_effect effect;
    enum lull_reason reason; /* why it was retried, or why that was the end */
    int64_t started_ms;      /* since the call began */
    int64_t duration_ms;
    int64_t retry_after_ms; /* -1: not said */
    int64_t delay_ms;       /* the wait after it, 0 if none */
    unsigned side_effects;  /* bits of enum lull_side_effect, for warnings */
    uint64_t span_id;       /* 0: no trace */
};

/* What is known of an attempt before it is sent. */
struct lull_attempt_plan {
    uint32_t number;      /* from 1 */
    int64_t remaining_ms; /* of a message's TTL (T3); LULL_NEVER: it has none */
    bool is_jwt_doubted;  /* the service doubts our token: sign it anew, if that helps (C8) */
};

/* All are called on the thread that drives the request. */
struct lull_hooks {
    void *userdata;
    /* Before each attempt, for headers that change from one to the next: those of the request, or
     * others in their place, which must last until this comes again or the result is there. NULL:
     * no memory, and the request ends. Not asked for a hedge. */
    const struct curl_slist *(*before_attempt)(void *userdata,
                                               const struct lull_attempt_plan *plan);
    /* Before each wait; false: do not wait, give up (reason cancelled). */
    bool (*before_wait)(void *userdata, const struct lull_attempt *attempt);
    /* After each decision, with the questions and answers of it. */
    void (*after_decision)(void *userdata, const struct lull_attempt *attempt,
                           const struct lull_verdict *verdict, const struct lull_trace *trace);
    /* More options for the easy handle of a request without one of its own, once per attempt. */
    void (*configure)(void *userdata, CURL *easy);
};

struct lull_request {
    /* A handle that you have set up: URL, method, body, TLS and so on. NULL: from the fields below.
     * Lull takes over its WRITE-, HEADER- and PREREQFUNCTION, and gives them back empty; also
     * PRIVATE, where many requests are under way on one multi. HTTPHEADER is taken over only if
     * `headers`, a key or a trace is given here: then put all of your headers in `headers`. Without
     * that, retries of a handle carry no Lull-Attempt. */
    CURL *easy;
    const char *url;                  /* with easy: NULL, the handle has it */
    const char *method;               /* default GET, with a body POST; with easy: asked of it */
    const struct curl_slist *headers; /* "Name: value" */
    struct lull_body body;            /* with easy: NONE, unless it is to be replayed by Lull */
    const struct lull_policy *policy; /* default the client's */
    enum lull_kind kind; /* PUSH and WEBHOOK are judged as such messages    default REQUEST */
    int64_t ttl_ms;      /* of a message, from now on           default LULL_TTL_DEFAULT */
    bool is_public_only; /* without easy: connect to no private, loopback or link-local address, by
                            no proxy either (W5)                default false */
    const char *idempotency_key; /* sent as Idempotency-Key; lets a POST be retried (C9) */
    bool is_repeatable;          /* it is safe to repeat, whatever the method */
    bool is_hedged; /* GET, HEAD and OPTIONS: a second one if it is slow; with easy, say the method
                     */
    int64_t deadline_ms;        /* for all of it; 0: the policy's */
    int64_t timeout_ms;         /* one attempt                       default 0: none */
    int64_t connect_timeout_ms; /* without easy                      default 10,000 */
    int64_t idle_timeout_ms;    /* without easy: no byte either way  default 30,000 */
    uint32_t incoming_attempt;  /* lull_incoming_attempt (H4)        default 0: unknown */
    const char *traceparent;    /* of the caller; "": begin a trace; NULL: none (L5) */
    const char *tracestate;     /* sent along with it */
    struct lull_cancel *cancel; /* NULL: cannot be cancelled */
    struct lull_sink sink;
    size_t body_max; /* kept in the result                default 16 MiB */
    struct lull_hooks hooks;
};

/* All defaults. url may be NULL if easy is set. */
LULL_API void lull_request_init(struct lull_request *request, const char *url);

/* ---- the result ---- */

struct lull_result {
    enum lull_verdict_kind verdict; /* DELIVERED, or GIVE_UP; DEAD for a message that nothing can
                                       help, or if the policy maps it so */
    enum lull_reason reason;
    unsigned status;       /* of the last response; 0: there is none */
    CURLcode code;         /* of the last attempt */
    bool is_body_complete; /* false: the status stands, but the body broke off */
    bool is_body_cut;      /* there was more than body_max (1 MiB for an error page to a sink) */
    struct lull_header *headers;
    size_t header_count;
    char *body; /* without a sink; with a final zero that does not count */
    size_t body_length;
    struct lull_attempt *attempts;
    size_t attempt_count; /* 0: the breaker, the deadline or a cancel came before the first */
    int64_t duration_ms;
    uint64_t trace_id[2]; /* 0: no trace */
};

LULL_API void lull_result_free(struct lull_result *result);

/* The first header of that name, in any case; NULL: there is none. */
LULL_API const struct lull_header *lull_header_find(const struct lull_header *headers, size_t count,
                                                    const char *name);

/* Content-Length, or -1 if it is not there or no number. */
LULL_API int64_t lull_response_length(const struct lull_response *response);

/* ---- blocking ---- */

/* Performs it to its end. 0 and a result, whatever the end; else LULL_ERR_RANGE for a request that
 * cannot be (no URL, a body with easy that is none of ours, a bad policy) or LULL_ERR_MEMORY. Any
 * thread may call it; connections are kept by the client for the next call. */
LULL_API int lull_http_perform(struct lull_client *client, const struct lull_request *request,
                               struct lull_result **ret_result);

/* ---- on an event loop ---- */

struct lull_multi_config {
    CURLM *curl; /* yours, that you drive; NULL: one of its own, see lull_multi_curl */
    void *userdata;
    /* Finished transfers on your CURLM that are none of ours. NULL: they are passed over. */
    void (*on_other)(void *userdata, CURLMsg *message);
    /* Somebody cancelled on another thread: make your loop call lull_multi_step soon. Not needed
     * where curl_multi_poll waits, which is woken. Must not block, nor call Lull: the token is
     * locked meanwhile. */
    void (*wake)(void *userdata);
};

LULL_API int lull_multi_new(struct lull_multi **ret_multi, struct lull_client *client,
                            const struct lull_multi_config *config);
LULL_API CURLM *lull_multi_curl(struct lull_multi *multi);

/* For an event loop with pushes or webhooks: call lull_multi_step when it is readable. -1: no
 * memory, or a ca_file that cannot be read. Not needed where there are none. */
LULL_API int lull_multi_fd(struct lull_multi *multi);

/* What is still under way is cancelled, and its on_done called. Before curl_multi_cleanup of your
 * own CURLM, and that before the end of the loop that it reports to. NULL is fine. */
LULL_API void lull_multi_destroy(struct lull_multi *multi);

/* Takes it on; it starts in the next lull_multi_step, and so on_done, which gets the result to
 * keep, is only ever called from there or from lull_multi_destroy. The struct is copied, what it
 * points to is not. Errors as for lull_http_perform, and then on_done is not called. */
LULL_API int lull_multi_add(struct lull_multi *multi, const struct lull_request *request,
                            void (*on_done)(void *userdata, struct lull_result *result),
                            void *userdata);

/* Starts what is due, takes in what has finished. Returns the ms after which to call it again at
 * the latest, -1: only when curl has news. */
LULL_API int64_t lull_multi_step(struct lull_multi *multi);

/* How many are under way, waiting ones included. */
LULL_API size_t lull_multi_count(const struct lull_multi *multi);

/* ---- cancelling from another thread ---- */

/* One token can stop many requests, now and later. It must outlive them. A signal takes a lock, so
 * it comes from a thread, not from a signal handler. */
LULL_API struct lull_cancel *lull_cancel_new(void); /* NULL: no memory */
LULL_API void lull_cancel_signal(struct lull_cancel *cancel);
LULL_API void lull_cancel_destroy(struct lull_cancel *cancel);

LULL_END_DECLS

#endif

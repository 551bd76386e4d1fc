/* client - what the calls of one client share, under its lock. */
#ifndef LULL_HTTP_CLIENT_H
#define LULL_HTTP_CLIENT_H

#include "lull/http.h"

/* May an attempt go out? 0 and a permit, or the ms that the breaker keeps it back (K5). The first
 * one of a call is a request for the budget. */
int64_t client_ask(struct lull_client *client, uint64_t key, int64_t mono_ms, bool is_first,
                   struct lull_breaker_permit *ret_permit);

/* The seed of a call's own randomness. */
uint64_t client_draw(struct lull_client *client);

/* What became of it. retry_after_ms 0: not said; latency_us -1: not measured. */
void client_report(struct lull_client *client, uint64_t key, int64_t mono_ms,
                   struct lull_breaker_permit permit, enum lull_class class_,
                   int64_t retry_after_ms, int64_t latency_us);

/* Tells the facts what circuit and budget would say to a retry now. */
void client_inspect_for_retry(struct lull_client *client, uint64_t key, int64_t mono_ms,
                              bool was_timeout, struct lull_facts *facts);

/* Pays for a retry. False: somebody else was quicker, and the budget is spent (G4). */
bool client_take_retry(struct lull_client *client, uint64_t key, int64_t mono_ms, bool was_timeout);

/* How long to wait before a hedge, or LULL_NEVER. */
int64_t client_hedge_delay_ms(struct lull_client *client, uint64_t key, int64_t mono_ms);

/* Pays for a hedge and asks the breaker, which must be closed. */
bool client_take_hedge(struct lull_client *client, uint64_t key, int64_t mono_ms,
                       struct lull_breaker_permit *ret_permit);

const struct lull_policy *client_policy(const struct lull_client *client);
const char *client_attempt_header(const struct lull_client *client);
const char *client_ca_file(const struct lull_client *client); /* NULL: the system's */
CURLSH *client_share(const struct lull_client *client);

/* Idle multis for blocking calls, with their connections. take: NULL if there is none. */
struct lull_multi *client_take_multi(struct lull_client *client);
void client_give_multi(struct lull_client *client, struct lull_multi *multi);

#endif

/*
 * curl_loop - a CURLM on a poller and timers: its sockets are watches, its one timer is a timer.
 *
 *   curl_loop_init -> { curl_loop_add, curl_loop_run, ... } -> curl_loop_clean_up
 *
 * libcurl moves when a socket is ready and in curl_loop_run, nowhere else; its timer only makes it
 * due. on_done is called after libcurl has returned, so it may remove handles, and add them.
 */
#ifndef LULL_HTTP_CURL_LOOP_H
#define LULL_HTTP_CURL_LOOP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "poller.h"
#include "timers.h"

struct curl_loop {
    CURLM *multi;
    struct poller *poller;
    struct timers *timers;
    struct timer timer;
    bool is_due;
    int64_t now_ms; /* of the call from outside that is going on: to be set before handles are added
                       or removed */
    void (*on_done)(CURL *easy, CURLcode code);
};

/* At most connections_max connections, in use or kept. False: no memory. */
bool curl_loop_init(struct curl_loop *loop, struct poller *poller, struct timers *timers,
                    long connections_max, void (*on_done)(CURL *easy, CURLcode code));
void curl_loop_clean_up(struct curl_loop *loop); /* after all handles were removed */

/* It sets out with the next curl_loop_run. False: no memory. */
bool curl_loop_add(struct curl_loop *loop, CURL *easy);

/* After handles were added, and whenever timers and sockets have had their turn. */
void curl_loop_run(struct curl_loop *loop, int64_t now_ms);

#endif

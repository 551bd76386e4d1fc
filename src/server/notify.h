/*
 * notify - what systemd and the server tell each other, by its documented protocols alone.
 *
 * Where there is no systemd, nothing is said and nothing is asked. The watchdog wants a sign of
 * life at half its interval:
 *
 *   notify_sockets -> notify_ready -> notify_status, notify_watchdog ... -> notify_stopping
 */
#ifndef LULL_SERVER_NOTIFY_H
#define LULL_SERVER_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* All of these: false if $NOTIFY_SOCKET is not set, or it could not be told. */
bool notify_ready(void);
bool notify_stopping(void);
bool notify_reloading(void); /* notify_ready follows when it is done */
bool notify_watchdog(void);
bool notify_extend(int64_t wait_ms); /* stopping or reloading may take so much longer */
__attribute__((format(printf, 1, 2))) bool notify_status(const char *format, ...);

/* How often systemd wants notify_watchdog, at the longest: half of $WATCHDOG_USEC. 0: it does not.
 */
int64_t notify_watchdog_interval_ms(void);

/* Sockets that systemd opened for us (LISTEN_FDS): how many, from this descriptor on. They are
 * closed on exec; the variables are removed, so that it is asked once and no child takes them for
 * its own. */
#define NOTIFY_FIRST_SOCKET 3
int notify_sockets(void);

#endif

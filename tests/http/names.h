/*
 * names - a look-up of names inside the test: it stands in for the system's getaddrinfo, for
 * libcurl too.
 *
 * "name.test" is 127.0.0.1, "hang.test" takes until names_release, an address in writing is itself,
 * and there are no others.
 */
#ifndef LULL_TESTS_HTTP_NAMES_H
#define LULL_TESTS_HTTP_NAMES_H

void names_wait_for_hang(void); /* until a look-up hangs */
void names_release(void);       /* one that hangs fails */

#endif

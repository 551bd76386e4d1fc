/* seldom - marks what most requests do not need. It stays out of line, so that what they do need
 * lies close together: after each wait for a server all of that is cold again. */
#ifndef LULL_HTTP_SELDOM_H
#define LULL_HTTP_SELDOM_H

#define SELDOM __attribute__((noinline))

#endif

/*
 * api - what marks a function as part of liblull's public face.
 *
 * Everything else in the shared library is hidden, so this macro is the whole list of exports.
 */
#ifndef LULL_API_H
#define LULL_API_H

#if defined(__GNUC__)
#define LULL_API __attribute__((visibility("default")))
#else
#define LULL_API
#endif

#ifdef __cplusplus
#define LULL_BEGIN_DECLS extern "C" {
#define LULL_END_DECLS }
#else
#define LULL_BEGIN_DECLS
#define LULL_END_DECLS
#endif

#endif

/* P1, V4: any text as a URL. What is taken apart lies inside of it, in order, and says the same
 * when it is put together again; what is refused leaves the answer alone. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/lull.h"
#include "url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_parts(const char *text, const struct url *url)
{
    const char *end = text + strlen(text);
    bool is_path_ours = url->path >= text && url->path <= end;
    bool is_bracketed = *url->authority == '[';
    assert(url->port > 0);
    assert(url->host_length > 0 && url->host > text);
    assert(url->host == url->authority + is_bracketed);
    assert(url->authority_length >= url->host_length + 2 * (size_t)is_bracketed);
    assert(url->authority + url->authority_length <= end);
    assert(is_bracketed == (memchr(url->host, ':', url->host_length) != NULL));
    assert(!memchr(url->authority, '@', url->authority_length));
    assert(url->path_length > 0 && (*url->path == '/' || *url->path == '?'));
    if (is_path_ours) {
        /* An empty port is all that can lie between, and the fragment all that can be behind. */
        const char *between = url->authority + url->authority_length;
        assert(url->path == between || (url->path == between + 1 && *between == ':'));
        assert(url->path + url->path_length == end || url->path[url->path_length] == '#');
    } else {
        assert(url->path_length == 1);
    }
    assert(!memchr(url->path, '#', url->path_length));
}

static void check_again(const struct url *url)
{
    size_t size = sizeof "https:///" + url->authority_length + url->path_length;
    char *text = malloc(size);
    struct url again;
    assert(text);
    (void)snprintf(text, size, "%s://%.*s%.*s", url->is_https ? "https" : "http",
                   (int)url->authority_length, url->authority, (int)url->path_length, url->path);
    assert(url_split(text, &again) == LULL_OK);
    check_parts(text, &again);
    assert(again.is_https == url->is_https && again.port == url->port);
    assert(again.host_length == url->host_length && again.path_length == url->path_length);
    assert(memcmp(again.host, url->host, url->host_length) == 0);
    assert(memcmp(again.path, url->path, url->path_length) == 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct url url;
    struct url before;
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    memset(&url, 0xee, sizeof url);
    memcpy(&before, &url, sizeof url);
    if (url_split(text, &url) == LULL_OK) {
        const char *host = NULL;
        size_t host_length = 0;
        assert(lull_url_host(text, strlen(text), &host, &host_length) == LULL_OK);
        check_parts(text, &url);
        check_again(&url);
    } else {
        assert(memcmp(&url, &before, sizeof url) == 0);
    }
    free(text);
    return 0;
}

/* api_world - see the header. SPDX-License-Identifier: MIT */
#include "api_world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lull/webpush.h"
#include "token.h"

#define REPLY_MAX (64 << 20)

/* ---- the server ---- */

static void make_subscription(char *text, size_t size)
{
    struct lull_encryptor *encryptor = NULL;
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t public_key[LULL_P256_POINT_SIZE];
    char key[LULL_BASE64URL_SIZE(LULL_P256_POINT_SIZE)];
    assert_int_equal(lull_encryptor_new(&encryptor, 0), LULL_OK);
    assert_int_equal(lull_push_keypair(encryptor, private_key, public_key), LULL_OK);
    lull_encryptor_destroy(encryptor);
    (void)lull_base64url_encode(public_key, sizeof public_key, key);
    (void)snprintf(text, size,
                   "{\"endpoint\":\"https://fcm.googleapis.com/fcm/send/secret-of-the-endpoint\","
                   "\"keys\":{\"p256dh\":\"%s\",\"auth\":\"AAAAAAAAAAAAAAAAAAAAAA\"}}",
                   key);
}

void api_world_init(struct api_world *world)
{
    struct lull_vapid_key *key = NULL;
    memset(world, 0, sizeof *world);
    assert_true(config_init(&world->config));
    world->config.limits.api_threads = 2;
    world->config.limits.body_max = 4096;
    world->config.limits.batch_lines_max = 100;
    world->config.limits.batch_bytes_max = 100000;
    assert_int_equal(lull_vapid_key_new(&key, "mailto:tests@lull.example", NULL), LULL_OK);
    assert_int_equal(lull_vapid_ring_new(&world->ring, NULL), LULL_OK);
    assert_int_equal(lull_vapid_ring_add(world->ring, key), LULL_OK);
    make_subscription(world->subscription, sizeof world->subscription);
    world->stand_in = stand_in_start();
}

static void on_mistake(void *userdata, const char *path, int line, const char *where,
                       const char *sentence)
{
    (void)userdata;
    fail_msg("%s:%d: %s: %s", path, line, where ? where : "", sentence);
}

void api_world_use_token(struct api_world *world)
{
    static const struct config_report report = {.mistake = on_mistake};
    char path[] = "/tmp/lull-test-token-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "tests: " TEST_TOKEN "\n"), sizeof "tests: " TEST_TOKEN);
    (void)close(fd);
    free(world->config.token_file);
    world->config.token_file = strdup(path);
    assert_true(token_read(&world->config, &report));
    (void)unlink(path);
}

void api_world_start(struct api_world *world)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    world->port = ntohs(address.sin_port);
    struct api_config config = {
        .config = &world->config,
        .ring = world->ring,
        .health = stand_in_health(world->stand_in),
        .listen_fd = fd,
        .server = world->stand_in,
        .submit = stand_in_submit,
        .now_ms = stand_in_now_ms,
        .metrics = stand_in_metrics,
    };
    assert_int_equal(api_new(&world->api, &config), LULL_OK);
}

void api_world_stop(struct api_world *world)
{
    api_destroy(world->api);
    stand_in_stop(world->stand_in);
    lull_vapid_ring_destroy(world->ring);
    config_clean_up(&world->config);
}

int api_world_setup(void **state)
{
    struct api_world *world = calloc(1, sizeof *world);
    api_world_init(world);
    api_world_start(world);
    *state = world;
    return 0;
}

int api_world_teardown(void **state)
{
    api_world_stop(*state);
    free(*state);
    return 0;
}

/* ---- the client ---- */

int talk_connect(const struct api_world *world)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(world->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

void talk_write(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = send(fd, bytes, length, MSG_NOSIGNAL);
        if (written <= 0) {
            return;
        }
        bytes += written;
        length -= (size_t)written;
    }
}

static void say(int fd, const char *format, va_list arguments)
{
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    assert_true(length >= 0);
    talk_write(fd, text, (size_t)length);
    free(text);
}

void talk_say(int fd, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(fd, format, arguments);
    va_end(arguments);
}

/* One byte at a time: nothing of the next answer is taken. Empty: the connection ended. */
static char *read_line(int fd, char *at, const char *end)
{
    char *start = at;
    while (at < end && read(fd, at, 1) == 1) {
        if (*at++ == '\n') {
            break;
        }
    }
    *at = '\0';
    return at == start ? NULL : at;
}

static bool read_all(int fd, char *to, size_t length)
{
    while (length > 0) {
        ssize_t got = read(fd, to, length);
        if (got <= 0) {
            return false;
        }
        to += got;
        length -= (size_t)got;
    }
    return true;
}

static void read_chunks(int fd, struct reply *reply)
{
    for (;;) {
        char line[64];
        assert_non_null(read_line(fd, line, line + sizeof line - 1));
        size_t length = strtoul(line, NULL, 16);
        reply->body = realloc(reply->body, reply->length + length + 1);
        assert_non_null(reply->body);
        assert_true(read_all(fd, reply->body + reply->length, length));
        reply->length += length;
        reply->body[reply->length] = '\0';
        assert_non_null(read_line(fd, line, line + sizeof line - 1));
        if (length == 0) {
            return;
        }
    }
}

struct reply talk_read(int fd, bool is_head)
{
    struct reply reply = {.head = calloc(1, 16384)};
    char *at = reply.head;
    const char *end = reply.head + 16383;
    char *line = at;
    while ((at = read_line(fd, line, end)) && strcmp(line, "\r\n") != 0) {
        line = at;
    }
    if (!at || sscanf(reply.head, "HTTP/1.1 %d", &reply.status) != 1) {
        reply.status = 0;
        return reply;
    }
    if (reply.status == 100) {
        reply_free(&reply);
        return talk_read(fd, is_head);
    }
    const char *length = strcasestr(reply.head, "\r\nContent-Length:");
    if (is_head) {
        reply.body = calloc(1, 1);
    } else if (length) {
        reply.length = strtoul(length + sizeof "\r\nContent-Length:" - 1, NULL, 10);
        assert_true(reply.length < REPLY_MAX);
        reply.body = calloc(1, reply.length + 1);
        assert_true(read_all(fd, reply.body, reply.length));
    } else {
        read_chunks(fd, &reply);
    }
    return reply;
}

void reply_free(struct reply *reply)
{
    free(reply->head);
    free(reply->body);
    *reply = (struct reply){0};
}

struct reply talk(const struct api_world *world, const char *format, ...)
{
    va_list arguments;
    int fd = talk_connect(world);
    va_start(arguments, format);
    say(fd, format, arguments);
    va_end(arguments);
    struct reply reply = talk_read(fd, strncmp(format, "HEAD ", 5) == 0);
    (void)close(fd);
    return reply;
}

struct reply talk_post(const struct api_world *world, const char *path, const char *type,
                       const char *headers, const char *body)
{
    return talk(
        world, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n%sContent-Length: %zu\r\n\r\n%s",
        path, type, headers, strlen(body), body);
}

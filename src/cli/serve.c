/*
 * serve - `lull serve`: the delivery server. SPDX-License-Identifier: MIT
 *
 * This is the main thread: it starts the others (src/server/server.h) and waits for signals.
 */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "key_file.h"
#include "listen.h"
#include "log.h"
#include "lull/error.h"
#include "lull/os.h"
#include "lull/version.h"
#include "notify.h"
#include "serve_options.h"
#include "server.h"
#include "state_folder.h"

#define LOOK_EVERY_MS 500

enum serve_end {
    SERVE_STOP,
    SERVE_RELOAD,
    SERVE_BROKE,
};

static int fail(const char *what)
{
    fprintf(stderr, "lull serve: %s\n", what);
    return CLI_FAILED;
}

/* ---- the keys ---- */

static int add_key(struct lull_vapid_ring *ring, struct lull_vapid_key *key)
{
    if (lull_vapid_ring_add(ring, key) != LULL_OK) {
        lull_vapid_key_destroy(key);
        fputs("lull serve: a VAPID key is named twice, or there are too many\n", stderr);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* For free(). NULL: no memory. */
static char *path_beside(const char *path, const char *name)
{
    char *copy = strdup(path);
    char *beside = NULL;
    if (copy && asprintf(&beside, "%s/%s", dirname(copy), name) < 0) {
        beside = NULL;
    }
    free(copy);
    return beside;
}

/* The key that is made at the first start, or the one that was. */
static int load_own_key(const struct config *config, const char *path, bool is_making,
                        struct lull_vapid_ring *ring)
{
    struct lull_vapid_key *key = NULL;
    struct lull_webpush_error error = {""};
    int code = CLI_OK;
    if (access(path, F_OK) == 0) {
        code = key_file_load("serve", path, &key);
    } else if (!is_making) {
        return CLI_OK;
    } else if (lull_vapid_key_new(&key, config->subject, &error) != LULL_OK) {
        fprintf(stderr, "lull serve: a VAPID key could not be made: %s\n", error.text);
        return CLI_USAGE;
    } else {
        code = key_file_save("serve", path, key, false);
        if (code == CLI_OK) {
            struct log_line line;
            log_begin(&line, LOG_WARN, "key_made");
            log_text(&line, "file", path);
            log_text(&line, "key_id", lull_vapid_key_id(key));
            log_text(&line, "subject", config->subject);
            log_text(&line, "message",
                     "push services write to the subject: set your own by lull keys, before "
                     "browsers subscribe");
            log_end(&line);
        }
    }
    if (code != CLI_OK) {
        lull_vapid_key_destroy(key);
        return code;
    }
    return add_key(ring, key);
}

static int load_keys(const struct config *config, bool is_making, struct lull_vapid_ring *ring)
{
    int code = CLI_OK;
    if (config->key_count == 0) {
        char *path = path_beside(config->store, "vapid.json");
        code = path ? load_own_key(config, path, is_making, ring) : fail("there is no memory");
        free(path);
    }
    for (size_t i = 0; code == CLI_OK && i < config->key_count; i++) {
        struct lull_vapid_key *key = NULL;
        code = key_file_load("serve", config->key_paths[i], &key);
        code = code == CLI_OK ? add_key(ring, key) : code;
    }
    return code;
}

/* ---- one run, from a configuration to the next ---- */

static int explain_error(int error, const char *store, const struct store_opening *problem)
{
    if (*problem->problem != '\0') {
        fprintf(stderr, "lull serve: %s: %s\n", store, problem->problem);
        return CLI_FAILED;
    }
    return fail(error == LULL_ERR_RANGE ? "ca_file cannot be read, or has no certificate"
                                        : store_error_to_string(error));
}

static enum serve_end wait_for_end(struct server *server, const sigset_t *signals)
{
    int64_t watchdog_ms = notify_watchdog_interval_ms();
    int64_t interval_ms =
        watchdog_ms > 0 && watchdog_ms < LOOK_EVERY_MS ? watchdog_ms : LOOK_EVERY_MS;
    const struct timespec wait = {interval_ms / 1000, interval_ms % 1000 * 1000000};
    for (;;) {
        int signal = sigtimedwait(signals, NULL, &wait);
        if (signal == SIGTERM || signal == SIGINT) {
            return SERVE_STOP;
        }
        if (signal == SIGHUP) {
            return SERVE_RELOAD;
        }
        if (server_wait(server, 0) == SERVER_BROKEN) {
            return SERVE_BROKE;
        }
        (void)notify_watchdog();
    }
}

/* What is in flight may end; a second signal, or the time limit, ends it. */
static void drain(struct server *server, const struct config *config, const sigset_t *signals)
{
    const struct timespec at_once = {0, 0};
    int64_t end_ms = lull_os_mono_ms() + config->limits.drain_timeout_ms;
    log_say(LOG_INFO, "draining", "no new messages; what is in flight may end");
    server_drain(server);
    while (server_wait(server, 100) == SERVER_RUNNING && lull_os_mono_ms() < end_ms &&
           sigtimedwait(signals, NULL, &at_once) < 0) {
        (void)notify_watchdog();
    }
}

static int run_server(const struct config *config, const struct listener *listener,
                      struct lull_vapid_ring *ring, const sigset_t *signals,
                      enum serve_end *ret_end)
{
    struct server *server = NULL;
    struct store_opening problem;
    struct log_line line;
    int error = server_new(&server, config, ring, &problem);
    if (error != LULL_OK) {
        return explain_error(error, config->store, &problem);
    }
    int fd = dup(listener->fd); /* ours stays open, so that a reload loses no connection */
    error = fd < 0 ? LULL_ERR_MEMORY : server_start(server, fd);
    if (error != LULL_OK) {
        server_stop(server);
        server_destroy(server);
        return fail("the threads of the server could not be started");
    }
    log_begin(&line, LOG_INFO, "listening");
    log_text(&line, "address", listener->text);
    log_text(&line, "store", config->store);
    log_text(&line, "version", LULL_VERSION);
    log_end(&line);
    (void)notify_ready();
    *ret_end = wait_for_end(server, signals);
    if (*ret_end == SERVE_STOP) {
        (void)notify_stopping();
    } else if (*ret_end == SERVE_RELOAD) {
        (void)notify_reloading();
    }
    if (*ret_end != SERVE_BROKE) {
        drain(server, config, signals);
    }
    server_stop(server);
    server_destroy(server);
    return *ret_end == SERVE_BROKE ? CLI_FAILED : CLI_OK;
}

static int run_once(const struct config *config, const struct listener *listener,
                    const sigset_t *signals, enum serve_end *ret_end)
{
    struct lull_vapid_ring *ring = NULL;
    if (lull_vapid_ring_new(&ring, NULL) != LULL_OK) {
        return fail("there is not enough memory");
    }
    int code = load_keys(config, true, ring);
    if (code == CLI_OK) {
        code = run_server(config, listener, ring, signals, ret_end);
    }
    lull_vapid_ring_destroy(ring);
    return code;
}

/* config_check looks at the address that is named; this at the socket that there is, which may be
 * systemd's, or from before a reload. */
static bool is_guarded(const struct config *config, const struct listener *listener)
{
    return listener->is_loopback || config->token_count > 0;
}

/* Another configuration is taken over when it is good; else the old one stays. */
static void reload(const struct serve_options *options, const struct listener *listener,
                   struct config *config)
{
    struct config fresh;
    bool is_good = serve_configure(options, &fresh);
    if (is_good && is_guarded(&fresh, listener)) {
        config_clean_up(config);
        *config = fresh;
        log_say(LOG_INFO, "reloaded", "the configuration was read again");
        return;
    }
    if (is_good) {
        log_say(LOG_ERROR, "no_tokens", "others can reach the socket, so it needs a token_file");
    }
    config_clean_up(&fresh);
    log_say(LOG_ERROR, "not_reloaded", "the configuration has mistakes: the old one stays");
}

static int serve(const struct serve_options *options, struct config *config)
{
    struct listener listener;
    char problem[LISTEN_PROBLEM_SIZE];
    sigset_t signals;
    enum serve_end end = SERVE_RELOAD;
    int code = CLI_OK;
    int folder_error = state_folder_make(config->store);
    if (folder_error != 0) {
        fprintf(stderr, "lull serve: the folder of %s cannot be made: %s\n", config->store,
                strerror(folder_error));
        return CLI_FAILED;
    }
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is a full disk */
    bool is_open = notify_sockets() > 0 ? listen_adopt(NOTIFY_FIRST_SOCKET, &listener, problem)
                                        : listen_open(config->listen, &listener, problem);
    if (!is_open) {
        return fail(problem);
    }
    if (!is_guarded(config, &listener)) {
        listen_close(&listener);
        return fail("others can reach the socket of systemd, so it needs a token_file");
    }
    while (code == CLI_OK && end == SERVE_RELOAD) {
        code = run_once(config, &listener, &signals, &end);
        if (code == CLI_OK && end == SERVE_RELOAD) {
            reload(options, &listener, config);
        }
    }
    listen_close(&listener);
    return code;
}

/* ---- the command ---- */

static int check(const struct config *config)
{
    struct lull_vapid_ring *ring = NULL;
    if (lull_vapid_ring_new(&ring, NULL) != LULL_OK) {
        return fail("there is not enough memory");
    }
    int code = load_keys(config, false, ring);
    lull_vapid_ring_destroy(ring);
    if (code == CLI_OK) {
        puts("The configuration is good.");
    }
    return code;
}

static int run(int argc, char **argv)
{
    struct serve_options options;
    struct config config;
    int code = serve_options_read(&options, argc, argv);
    if (code == CLI_OK && options.is_help) {
        fputs(serve_help, stdout);
        serve_print_keys(stdout);
    } else if (code == CLI_OK) {
        log_init(STDERR_FILENO, options.log_level, options.log_form);
        bool is_good = serve_configure(&options, &config);
        code = !is_good ? CLI_USAGE : options.is_check ? check(&config) : serve(&options, &config);
        config_clean_up(&config);
    }
    serve_options_free(&options);
    return code;
}

const struct cli_command cli_serve = {
    .name = "serve",
    .summary = "take messages, keep them safe, deliver them",
    .help = serve_help,
    .print_more = serve_print_keys,
    .run = run,
};

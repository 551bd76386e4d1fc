/*
 * database_reconnect - retries for an operation of your own: connecting to a database.
 *
 *   database_reconnect HOST PORT [WRITES [POLICY]]
 *
 * The database is a Redis server. The program writes a number five times a second, WRITES times
 * (default 1). When the connection is lost, it connects anew and writes that number again, which
 * is safe: writing the same value twice is the same as once. Each outage is an operation of its own
 * with retries of its own, by POLICY (default client).
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <lull/duration.h>
#include <lull/error.h>
#include <lull/os.h>
#include <lull/retry.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum answer {
    ANSWER_GOOD,
    ANSWER_TRANSIENT, /* trying again can help */
    ANSWER_FINAL,     /* it cannot: somebody has to change something */
};

/* A lost or refused connection passes; a name that does not exist or a lack of memory does not. */
static enum answer judge_connection(const redisContext *database)
{
    if (!database || database->err == REDIS_ERR_OOM || database->err == REDIS_ERR_PROTOCOL) {
        return ANSWER_FINAL;
    }
    if (database->err == REDIS_ERR_OTHER) { /* the name was not found: for now, or at all? */
        return strstr(database->errstr, gai_strerror(EAI_AGAIN)) ? ANSWER_TRANSIENT : ANSWER_FINAL;
    }
    return database->err ? ANSWER_TRANSIENT : ANSWER_GOOD;
}

/* The server's own errors begin with a word that tells. */
static enum answer judge_reply(const redisContext *database, const redisReply *reply)
{
    static const char *const passing[] = {"LOADING ",    "BUSY ",
                                          "TRYAGAIN ",   "CLUSTERDOWN ",
                                          "MASTERDOWN ", "ERR max number of clients"};
    if (!reply) {
        return judge_connection(database);
    }
    if (reply->type != REDIS_REPLY_ERROR) {
        return ANSWER_GOOD;
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        if (strncmp(reply->str, passing[i], strlen(passing[i])) == 0) {
            return ANSWER_TRANSIENT;
        }
    }
    return ANSWER_FINAL; /* NOAUTH, NOPERM, a wrong command */
}

/* Sends one command and says on stderr what was wrong with it. */
static enum answer ask(redisContext *database, const char *command)
{
    redisReply *reply = redisCommand(database, command);
    enum answer answer = judge_reply(database, reply);
    if (answer != ANSWER_GOOD) {
        fprintf(stderr, "%s: %s\n", command, reply ? reply->str : database->errstr);
    }
    if (reply) {
        freeReplyObject(reply);
    }
    return answer;
}

/* One try. On ANSWER_GOOD there is a connection over which the server answers. */
static enum answer connect_once(const char *host, int port, redisContext **ret_database)
{
    struct timeval timeout = {.tv_sec = 1};
    redisContext *database = redisConnectWithTimeout(host, port, timeout);
    enum answer answer = judge_connection(database);
    if (answer != ANSWER_GOOD) {
        fprintf(stderr, "connect: %s\n", database ? database->errstr : "no memory");
    } else if (redisSetTimeout(database, timeout) != REDIS_OK) {
        answer = ANSWER_FINAL;
    } else {
        answer = ask(database, "PING"); /* connected is not yet ready: it may be loading */
    }
    if (answer != ANSWER_GOOD && database) {
        redisFree(database);
        return answer;
    }
    *ret_database = database;
    return answer;
}

static void sleep_ms(int64_t wait_ms)
{
    struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
    while (nanosleep(&wait, &wait) != 0 && errno == EINTR) {
    }
}

/* Tries until it is connected or the policy says that it is enough: then NULL. */
static redisContext *connect_again(const struct lull_policy *policy, const char *host, int port)
{
    struct lull_retry retry;
    redisContext *database = NULL;
    enum answer answer;
    int error = lull_retry_init(&retry, policy, lull_os_seed(), lull_os_now_ms());
    if (error != LULL_OK) {
        fprintf(stderr, "policy: %s\n", lull_error_to_string(error));
        return NULL;
    }
    while ((answer = connect_once(host, port, &database)) != ANSWER_GOOD) {
        int64_t wait_ms =
            lull_retry_after_failure(&retry, answer == ANSWER_TRANSIENT, lull_os_now_ms());
        if (wait_ms == LULL_NEVER) {
            printf("gave up after attempt %" PRIu32 ": %s\n", retry.facts.attempt,
                   lull_reason_to_string(retry.verdict.reason));
            return NULL;
        }
        printf("attempt %" PRIu32 " in %" PRId64 " ms\n", retry.facts.attempt, wait_ms);
        (void)fflush(stdout);
        sleep_ms(wait_ms);
    }
    printf("connected at attempt %" PRIu32 "\n", retry.facts.attempt);
    (void)fflush(stdout);
    return database;
}

int main(int argc, char **argv)
{
    struct lull_policy policy;
    struct lull_policy_error error;
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: database_reconnect HOST PORT [WRITES [POLICY]]\n");
        return 2;
    }
    const char *text = argc > 4 ? argv[4] : "client";
    if (lull_policy_parse(&policy, text, strlen(text), &error) != LULL_OK) {
        fprintf(stderr, "database_reconnect: %s: %s\n", error.field, error.text);
        return 2;
    }
    int port = (int)strtol(argv[2], NULL, 10);
    int writes = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1;
    redisContext *database = connect_again(&policy, argv[1], port);
    enum answer answer = ANSWER_GOOD;
    for (int i = 1; database && answer != ANSWER_FINAL && i <= writes;) {
        char command[64];
        (void)snprintf(command, sizeof command, "SET lull:example %d", i);
        answer = ask(database, command);
        if (answer == ANSWER_GOOD) {
            printf("wrote %d\n", i++);
            (void)fflush(stdout);
            sleep_ms(200);
        } else if (answer == ANSWER_TRANSIENT) {
            redisFree(database);
            database = connect_again(&policy, argv[1], port);
        }
    }
    bool is_good = database && answer == ANSWER_GOOD;
    if (database) {
        redisFree(database);
    }
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}

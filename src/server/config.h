/*
 * config - what `lull serve` is told: lull.conf, the environment and its flags, in one struct.
 *
 *   config_init -> config_read_file -> config_read_environment -> config_set for each flag
 *               -> config_check -> ... -> config_clean_up
 *
 * What comes later wins. The keys are one table, config_keys. Every mistake is told with file and
 * line, what was wrong and what is accepted; all of them, not only the first. Values are not
 * repeated, since one may be a secret that was put in the wrong place.
 *
 * Of one thread at a time: libConfuse keeps its state in globals.
 */
#ifndef LULL_SERVER_CONFIG_H
#define LULL_SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/policy.h"
#include "lull/webhook.h"

#define CONFIG_NAME_SIZE 64

struct config_policy { /* policy "name" { text = "bulk retries=9" } */
    char name[CONFIG_NAME_SIZE];
    struct lull_policy policy;
};

struct config_service { /* service "host or vendor" { ... } */
    char name[256];
    uint64_t rate_milli_per_s; /* rate = "100/s burst 500"; 0: unlimited */
    uint32_t burst;
    uint32_t in_flight_max; /* 0: the default of limits */
};

struct config_signer { /* webhook_secret "name" { file = "..." }: one whsec_ or whsk_ a line */
    char name[CONFIG_NAME_SIZE];
    struct lull_webhook_secret secrets[LULL_WEBHOOK_SECRETS_MAX];
    size_t secret_count;
};

struct config_token { /* a line of the token file: "name: secret" */
    char name[CONFIG_NAME_SIZE];
    uint8_t hash[32]; /* SHA-256 of the secret: the secret itself is not kept */
};

struct config_origin { /* where a key got its value, for a mistake that is seen later */
    char *path;        /* NULL: not from a file */
    int line;
    char where[CONFIG_NAME_SIZE]; /* "limits.senders", "LULL_LISTEN", "--listen"; "": the default */
};

struct config {
    char *listen;     /* "127.0.0.1:8372", "[::1]:8372", or a path with a / for a Unix socket
                                                               default 127.0.0.1:8372 */
    char *store;      /* path of the SQLite file          default lull.db in the state folder */
    char *token_file; /* NULL: none; must not be readable by others */
    char **key_paths; /* vapid_keys = {"...", ...}: the first is the default one; none: vapid.json
                         beside the store, made at the first start */
    size_t key_count;
    char *subject;     /* of a key that is made            default mailto:admin@ the host's name */
    char *ca_file;     /* NULL: the system's */
    char *proxy;       /* of HTTP/1.1; NULL: as the environment says; "": none */
    char *push_policy; /* of pushes that name none         default delivery */
    char *webhook_policy;    /*                               default webhook */
    bool is_private_allowed; /* targets on private addresses (W5)   default false */

    struct {
        uint32_t api_threads;     /*                        default: one for each core, at most 8 */
        uint32_t senders;         /* threads                default: one for each two cores */
        uint32_t connections;     /* to the API             default 1,024 */
        uint32_t body_max;        /* bytes of one message's JSON         default 65,536 */
        uint32_t batch_lines_max; /* of one batch                       default 100,000 */
        uint64_t batch_bytes_max; /*                                    default 256 MiB */
        uint32_t client_timeout_s;          /* a client that sends nothing       default 30 */
        uint32_t in_flight_max;             /*                                   default 8,000 */
        uint32_t in_flight_per_service_max; /*                          default 2,000 */
        uint64_t waiting_soft_max;          /* G6                       default 5,000,000 */
        uint64_t waiting_hard_max;          /*                          default 6,000,000 */
        uint32_t poison_after;              /* Q8                       default 10 */
        int64_t connect_timeout_ms;         /*                          default 10,000 */
        int64_t first_byte_timeout_ms;      /*                          default 30,000 */
        int64_t timeout_ms;                 /*                          default 60,000 */
        int64_t drain_timeout_ms; /* after SIGTERM, for what is in flight   default 30,000 */
        uint32_t delivered_kept;  /* remembered to be shown             default 10,000 */
    } limits;

    struct config_policy *policies;
    size_t policy_count;
    struct config_service *services;
    size_t service_count;
    struct config_signer *signers;
    size_t signer_count;
    struct config_token *tokens; /* read from token_file by config_check */
    size_t token_count;
    struct config_origin *origins; /* of each key, in the order of config_keys */
};

/* Told of each mistake. path may be NULL (a flag or a variable: then `where` names it), line 0, and
 * where "" if it is about a whole file. sentence is what comes behind "where: ". */
struct config_report {
    void *userdata;
    void (*mistake)(void *userdata, const char *path, int line, const char *where,
                    const char *sentence);
};

/* Is a config_report.mistake that prints "path:line: where: sentence"; userdata is a FILE. */
void config_print_mistake(void *file, const char *path, int line, const char *where,
                          const char *sentence);

/* All defaults. False: no memory. */
bool config_init(struct config *config);
void config_clean_up(struct config *config); /* wipes the secrets */

/* False: there was a mistake, all of which were reported. A file that is not there is one. */
bool config_read_file(struct config *config, const char *path, const struct config_report *report);

/* One key, as a flag or an environment variable gives it: "listen", "store", "limits.senders", ...
 * where names it for the report ("--listen", "LULL_LISTEN"). */
bool config_set(struct config *config, const char *key, const char *value, const char *where,
                const struct config_report *report);

/* config_set for each variable of the table that is there and not empty. */
bool config_read_environment(struct config *config, const struct config_report *report);

/* What depends on more than one key, and the files that are named: reads tokens; listening
 * elsewhere than on loopback without a token is refused; the soft limit is not over the hard one.
 */
bool config_check(struct config *config, const struct config_report *report);

const struct config_service *config_find_service(const struct config *config, const char *name);
const struct config_signer *config_find_signer(const struct config *config, const char *name);

/* A policy by its text: a name of the configuration, with changes behind it or none, or whatever
 * lull_policy_parse takes. Its errors, and its sentence. */
int config_policy_parse(const struct config *config, const char *text, size_t length,
                        struct lull_policy *ret_policy, struct lull_policy_error *ret_error);

#endif

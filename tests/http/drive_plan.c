/* drive_plan - the plan of transport_drive, from the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"

struct plan plan;

static const struct {
    const char *name;
    int64_t *number;
    bool *flag;
    const char **text;
} options[] = {
    {"--count", .number = &plan.count},
    {"--in-flight", .number = &plan.in_flight},
    {"--threads", .number = &plan.threads},
    {"--body-size", .number = &plan.body_size},
    {"--response-max", .number = &plan.response_max},
    {"--connections", .number = &plan.connections},
    {"--connections-in-all", .number = &plan.connections_in_all},
    {"--streams", .number = &plan.streams},
    {"--cancel-after", .number = &plan.cancel_after_ms},
    {"--connect-timeout", .number = &plan.request.connect_timeout_ms},
    {"--first-byte-timeout", .number = &plan.request.first_byte_timeout_ms},
    {"--timeout", .number = &plan.request.timeout_ms},
    {"--idle-ping", .number = &plan.config.idle_ping_ms},
    {"--ping-timeout", .number = &plan.config.ping_timeout_ms},
    {"--idle-close", .number = &plan.config.idle_close_ms},
    {"--allow-private", .flag = &plan.is_private_allowed},
    {"--path-number", .flag = &plan.is_numbered},
    {"--echo", .flag = &plan.is_echo},
    {"--quiet", .flag = &plan.is_quiet},
    {"--retry-refused", .flag = &plan.does_retry},
    {"--method", .text = &plan.request.method},
    {"--ca", .text = &plan.config.ca_file},
    {"--proxy", .text = &plan.config.proxy},
};

static _Noreturn void refuse(const char *argument)
{
    (void)fprintf(stderr, "transport_drive: what is to be done with %s?\n", argument);
    exit(2);
}

static void add_header(const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon || plan.request.header_count == TRANSPORT_HEADERS_MAX) {
        refuse(text);
    }
    plan.headers[plan.request.header_count++] =
        (struct lull_header){text, (size_t)(colon - text), colon + 1, strlen(colon + 1)};
}

static void add_url(const char *text)
{
    if (plan.url_count == URLS_MAX) {
        refuse(text);
    }
    plan.urls[plan.url_count++] = text;
}

/* Returns how many arguments it was. */
static int read_option(const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(options[i].name, name) != 0) {
            continue;
        }
        if (options[i].flag) {
            return *options[i].flag = true;
        }
        char *end = NULL;
        if (options[i].text && value) {
            *options[i].text = value;
        } else if (!value || (*options[i].number = strtoll(value, &end, 10)) < 0 || *end) {
            refuse(name);
        }
        return 2;
    }
    if (value && strcmp(name, "--url") == 0) {
        add_url(value);
    } else if (value && strcmp(name, "--header") == 0) { /* name:value */
        add_header(value);
    } else {
        refuse(name);
    }
    return 2;
}

void read_plan(int argc, char **argv)
{
    transport_config_default(&plan.config);
    transport_request_init(&plan.request, NULL);
    plan.config.proxy = "";
    plan.count = plan.in_flight = plan.threads = 1;
    plan.connections = plan.config.connections_max_per_origin;
    plan.connections_in_all = plan.config.connections_max;
    plan.streams = plan.config.streams_max;
    plan.response_max = (int64_t)plan.request.response_max;
    for (int i = 1; i < argc;) {
        i += read_option(argv[i], argv[i + 1]);
    }
    if (plan.url_count == 0 || plan.in_flight == 0 || plan.threads == 0 ||
        plan.threads > THREADS_MAX || !(plan.body = malloc((size_t)plan.body_size + 1))) {
        refuse("no --url, or 0 of something");
    }
    for (int64_t i = 0; i < plan.body_size; i++) {
        plan.body[i] = (char)('a' + i % 26);
    }
    plan.config.connections_max_per_origin = (uint32_t)plan.connections;
    plan.config.connections_max = (uint32_t)plan.connections_in_all;
    plan.config.streams_max = (uint32_t)plan.streams;
    plan.request.headers = plan.headers;
    plan.request.body = plan.body;
    plan.request.body_length = (size_t)plan.body_size;
    plan.request.response_max = (size_t)plan.response_max;
    plan.request.is_public_only = !plan.is_private_allowed;
}

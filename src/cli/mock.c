/* mock - `lull mock`: a push service to practise on. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "lull/error.h"
#include "lull/os.h"
#include "mock_log.h"
#include "mock_server.h"

#define PEM_MAX 65536
#define HOST_SIZE 256
#define BACKLOG 1024
#define SEED_MAX ((UINT64_C(1) << 53) - 1) /* what every reader of JSON keeps whole */

static const char mock_help[] =
    "Usage: lull mock [OPTIONS]\n"
    "\n"
    "A push service to practise on. It creates subscriptions with their keys, checks every header\n"
    "and the VAPID token of a push, decrypts and shows what arrives, misbehaves as planned, and\n"
    "logs what came when, one JSON object a line. Ends on SIGINT and SIGTERM.\n"
    "\n"
    "Options:\n"
    "      --listen HOST:PORT   default 127.0.0.1:0; port 0 is a free one\n"
    "      --cert FILE, --key FILE  TLS, with this certificate chain and key (PEM)\n"
    "      --plan PLAN          how to misbehave; below\n"
    "      --seed N             of the plan's chances; default a new one\n"
    "      --log FILE           where the log goes, at the end of FILE; default standard output\n"
    "      --subscription FILE  write a subscription there, as a browser gives it (mode 0600)\n"
    "      --no-vapid           a push without VAPID is fine\n"
    "      --quiet              no log, unless --log names a file\n"
    "      --help\n"
    "\n"
    "The service:\n"
    "  POST /subscribe          a new subscription; the query or a JSON body may have plan and\n"
    "                           applicationServerKey\n"
    "  POST /push/ID            a push; 201 with Location, or an error in JSON\n"
    "  DELETE /message/ID, DELETE /subscription/ID\n"
    "  GET /                    200, with a Date\n"
    "\n"
    "A plan is items with ; between them. Steps, which each subscription walks by itself:\n"
    "  503                      this status; 201 and ok: the honest answer\n"
    "  429:2                    with Retry-After: 2\n"
    "  429:date+2               with the date in 2 s; also rfc850+2, asctime+2, epoch+2, past;\n"
    "                           wns+2: X-WNS-CONTINUE-AFTER\n"
    "  429=\"soon\"               with that Retry-After, as it is\n"
    "  reset, close, half, hang  a TCP reset; no answer; half a line; no answer and no end\n"
    "  slow:300, slow:300 503   the answer after 300 ms\n"
    "  503*3, 503*              three times, for ever\n"
    "Rules, which come before the steps, the first that applies:\n"
    "  10% 503                  one of ten pushes\n"
    "  410 after 3              the fourth push to a subscription, and each after it\n"
    "  bucket:5/s,10            429 when a bucket of 10, with 5 more each second, is empty;\n"
    "                           bucket:5/s,10,FORM: its Retry-After as seconds, date, rfc850,\n"
    "                           asctime, epoch, wns, past, none or =\"TEXT\"\n"
    "\n"
    "Exit status: 0 ended by a signal, 1 it cannot run, 2 wrong arguments.\n";

enum option_code {
    OPT_LISTEN = 256,
    OPT_CERT,
    OPT_KEY,
    OPT_PLAN,
    OPT_SEED,
    OPT_LOG,
    OPT_SUBSCRIPTION,
    OPT_NO_VAPID,
    OPT_QUIET,
    OPT_HELP,
};

static const struct option long_options[] = {
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"cert", required_argument, NULL, OPT_CERT},
    {"key", required_argument, NULL, OPT_KEY},
    {"plan", required_argument, NULL, OPT_PLAN},
    {"seed", required_argument, NULL, OPT_SEED},
    {"log", required_argument, NULL, OPT_LOG},
    {"subscription", required_argument, NULL, OPT_SUBSCRIPTION},
    {"no-vapid", no_argument, NULL, OPT_NO_VAPID},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

struct mock {
    /* as asked for */
    char host[HOST_SIZE];
    char port[8];
    const char *cert_path;
    const char *key_path;
    const char *log_path;
    const char *subscription_path;
    struct mock_plan plan;
    uint64_t seed;
    bool is_vapid_optional;
    bool is_quiet;
    bool is_help;
    /* as it is */
    char base[MOCK_URL_SIZE];
    char *cert;
    char *key;
    FILE *log;
    int listen_fd;
    int signal_fd;
    struct mock_service *service;
    struct mock_server *server;
};

/* ---- options ---- */

static int read_listen(struct mock *mock, const char *text)
{
    const char *colon = strrchr(text, ':');
    uint64_t port = 0;
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool is_bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (is_bracketed) {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= sizeof mock->host ||
        !cli_parse_number(colon + 1, 0, 65535, &port) ||
        (!is_bracketed && memchr(text, ':', length))) {
        return cli_usage("mock", "--listen must be HOST:PORT, like 127.0.0.1:8080 or [::1]:0");
    }
    memcpy(mock->host, text, length);
    mock->host[length] = '\0';
    (void)snprintf(mock->port, sizeof mock->port, "%u", (unsigned)port);
    return CLI_OK;
}

static int read_plan(struct mock *mock, const char *text)
{
    struct mock_plan_error error;
    if (mock_plan_parse(&mock->plan, text, strlen(text), &error) != LULL_OK) {
        return cli_usage("mock", "--plan: at character %zu: %s", error.offset + 1, error.text);
    }
    return CLI_OK;
}

static int read_option(struct mock *mock, int code, const char *value)
{
    switch (code) {
    case OPT_LISTEN:
        return read_listen(mock, value);
    case OPT_CERT:
        mock->cert_path = value;
        return CLI_OK;
    case OPT_KEY:
        mock->key_path = value;
        return CLI_OK;
    case OPT_PLAN:
        return read_plan(mock, value);
    case OPT_SEED:
        return cli_parse_number(value, 0, SEED_MAX, &mock->seed)
                   ? CLI_OK
                   : cli_usage("mock", "--seed must be a whole number below 2^53");
    case OPT_LOG:
        mock->log_path = value;
        return CLI_OK;
    case OPT_SUBSCRIPTION:
        mock->subscription_path = value;
        return CLI_OK;
    case OPT_NO_VAPID:
        mock->is_vapid_optional = true;
        return CLI_OK;
    case OPT_QUIET:
        mock->is_quiet = true;
        return CLI_OK;
    case OPT_HELP:
    default:
        mock->is_help = true;
        return CLI_OK;
    }
}

static int read_options(struct mock *mock, int argc, char **argv)
{
    int code = 0;
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        int result = code == '?' || code == ':'
                         ? cli_refuse_option("mock", long_options, code, argv[optind - 1])
                         : read_option(mock, code, optarg);
        if (result != CLI_OK) {
            return result;
        }
    }
    if (optind < argc) {
        return cli_usage("mock", "takes no arguments, only options");
    }
    if (!mock->cert_path != !mock->key_path) {
        return cli_usage("mock", "--cert and --key go together");
    }
    return CLI_OK;
}

/* ---- getting ready ---- */

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "lull mock: %s%s%s.\n", what, why ? ": " : "", why ? why : "");
    return CLI_FAILED;
}

static int open_socket(struct mock *mock)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    struct sockaddr_in6 bound = {0}; /* the port is at the same place for both families */
    socklen_t size = sizeof bound;
    int one = 1;
    int code = getaddrinfo(mock->host, mock->port, &hints, &found);
    if (code != 0) {
        return failed("the host of --listen has no address", gai_strerror(code));
    }
    mock->listen_fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_good = mock->listen_fd >= 0 &&
                   setsockopt(mock->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                   bind(mock->listen_fd, found->ai_addr, found->ai_addrlen) == 0 &&
                   listen(mock->listen_fd, BACKLOG) == 0 &&
                   getsockname(mock->listen_fd, (struct sockaddr *)&bound, &size) == 0;
    const char *why = is_good ? NULL : strerror(errno);
    freeaddrinfo(found);
    if (!is_good) {
        return failed("it cannot listen there", why);
    }
    bool is_bracketed = strchr(mock->host, ':') != NULL;
    (void)snprintf(mock->base, sizeof mock->base, "http%s://%s%s%s:%u", mock->cert ? "s" : "",
                   is_bracketed ? "[" : "", mock->host, is_bracketed ? "]" : "",
                   (unsigned)ntohs(bound.sin6_port));
    return CLI_OK;
}

/* Decrypted texts are in it, so it is the user's alone. */
static int open_log(struct mock *mock)
{
    if (!mock->log_path || strcmp(mock->log_path, "-") == 0) {
        mock->log = mock->is_quiet && !mock->log_path ? NULL : stdout;
        return CLI_OK;
    }
    int fd = open(mock->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    mock->log = fd >= 0 ? fdopen(fd, "a") : NULL;
    return mock->log ? CLI_OK : failed("the file of --log cannot be opened", strerror(errno));
}

static int write_subscription(struct mock *mock)
{
    const struct mock_subscription *subscription = NULL;
    char sentence[MOCK_SENTENCE_SIZE] = "";
    if (!mock->subscription_path) {
        return CLI_OK;
    }
    if (mock_subscribe(mock->service, NULL, NULL, lull_os_mono_ms(), &subscription, sentence) !=
        LULL_OK) {
        return failed("there is not enough memory", NULL);
    }
    char *text = mock_subscription_json(mock->service, subscription);
    int fd = open(mock->subscription_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    /* An old file may be open to others. */
    bool is_good = text && file && fchmod(fd, 0600) == 0 && fprintf(file, "%s\n", text) > 0;
    const char *why = is_good ? NULL : strerror(errno);
    if (file && fclose(file) != 0 && is_good) {
        is_good = false;
        why = strerror(errno);
    }
    free(text);
    return is_good ? CLI_OK : failed("the file of --subscription cannot be written", why);
}

static int read_certificate(struct mock *mock)
{
    size_t length = 0;
    if (!mock->cert_path) {
        return CLI_OK;
    }
    mock->cert = cli_read_file("mock", "the certificate", mock->cert_path, PEM_MAX, &length);
    mock->key = mock->cert ? cli_read_file("mock", "the certificate's key", mock->key_path, PEM_MAX,
                                           &length)
                           : NULL;
    return mock->key ? CLI_OK : CLI_FAILED;
}

/* Blocked before the first thread starts, and read like input. */
static void watch_signals(struct mock *mock)
{
    sigset_t signals;
    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    mock->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
}

static int start(struct mock *mock)
{
    const struct mock_service_config service = {.base = mock->base,
                                                .plan = &mock->plan,
                                                .seed = mock->seed,
                                                .is_vapid_optional = mock->is_vapid_optional};
    if (mock_service_new(&mock->service, &service, lull_os_mono_ms()) != LULL_OK) {
        return failed("the host of --listen makes no URL, or there is not enough memory", NULL);
    }
    int result = write_subscription(mock);
    if (result != CLI_OK) {
        return result;
    }
    const struct mock_server_config server = {.listen_fd = mock->listen_fd,
                                              .base = mock->base,
                                              .cert = mock->cert,
                                              .key = mock->key,
                                              .service = mock->service,
                                              .log = mock->log};
    mock->server = mock_server_start(&server);
    if (!mock->server) {
        return failed(mock->cert ? "the certificate and its key cannot be used"
                                 : "the server cannot be started",
                      NULL);
    }
    mock->listen_fd = -1; /* the server closes it */
    return mock_log_listening(stdout, mock->base, mock->seed)
               ? CLI_OK
               : failed("standard output cannot be written", NULL);
}

static int run_service(struct mock *mock)
{
    watch_signals(mock);
    int result = read_certificate(mock);
    result = result == CLI_OK ? open_log(mock) : result;
    result = result == CLI_OK ? open_socket(mock) : result;
    result = result == CLI_OK ? start(mock) : result;
    if (result != CLI_OK) {
        return result;
    }
    struct pollfd fds[] = {{.fd = mock->signal_fd, .events = POLLIN},
                           {.fd = mock_server_stop_fd(mock->server), .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
    return fds[1].revents ? failed("the log cannot be written", NULL) : CLI_OK;
}

static void clean_up(struct mock *mock)
{
    mock_server_stop(mock->server);
    mock_service_destroy(mock->service);
    if (mock->listen_fd >= 0) {
        (void)close(mock->listen_fd);
    }
    if (mock->signal_fd >= 0) {
        (void)close(mock->signal_fd);
    }
    if (mock->log && mock->log != stdout) {
        (void)fclose(mock->log);
    }
    free(mock->cert);
    if (mock->key) {
        explicit_bzero(mock->key, strlen(mock->key));
    }
    free(mock->key);
}

static int run(int argc, char **argv)
{
    static struct mock mock = {.host = "127.0.0.1", .port = "0", .listen_fd = -1, .signal_fd = -1};
    mock.seed = lull_os_seed() & SEED_MAX;
    int result = read_options(&mock, argc, argv);
    if (result == CLI_OK && mock.is_help) {
        fputs(mock_help, stdout);
    } else if (result == CLI_OK) {
        result = run_service(&mock);
    }
    clean_up(&mock);
    return result;
}

const struct cli_command cli_mock = {
    .name = "mock",
    .summary = "a push service to practise on, which misbehaves on demand",
    .help = mock_help,
    .run = run,
};

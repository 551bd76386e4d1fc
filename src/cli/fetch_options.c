/* fetch_options - see the header. SPDX-License-Identifier: MIT */
#include "fetch_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "lull/duration.h"
#include "lull/error.h"

#define PARALLEL_MAX 10000

const char fetch_help[] =
    "Usage: lull fetch [OPTIONS] URL...\n"
    "\n"
    "Makes an HTTP request, and repeats it only where that is right: backoff with jitter,\n"
    "Retry-After honoured, a retry budget, no POST sent twice. The flags are curl's where curl "
    "has\n"
    "them.\n"
    "\n"
    "The request:\n"
    "  -X, --request METHOD      default GET; POST with -d, PUT with -T, HEAD with -I\n"
    "  -H, --header 'NAME: VALUE'  may be repeated\n"
    "  -d, --data TEXT           a form; @FILE without its line ends, @- standard input;\n"
    "                            repeated, they are joined by &\n"
    "      --data-raw TEXT       the same, @ means nothing\n"
    "      --data-binary TEXT    the same, @FILE as it is\n"
    "  -T, --upload-file FILE    the body of a PUT; - is standard input\n"
    "  -u, --user USER:PASSWORD  basic authentication\n"
    "  -A, --user-agent TEXT\n"
    "  -L, --location            follow redirects, up to 10\n"
    "      --compressed          ask for a compressed answer\n"
    "\n"
    "The connection:\n"
    "  -m, --max-time SECONDS    for one attempt; default: no limit, but 30 s without a byte end "
    "it\n"
    "      --connect-timeout SECONDS  default 10\n"
    "      --cacert FILE, --cert FILE, --key FILE, -k, --insecure\n"
    "  -x, --proxy URL, --resolve HOST:PORT:ADDRESS\n"
    "      --http1.1, --http2, --http2-prior-knowledge\n"
    "\n"
    "The retries:\n"
    "      --policy TEXT         default client; 'client cap=10s status.409=retry'; "
    "lull-policy(7)\n"
    "      --retries N           after the first attempt; default 3\n"
    "      --deadline SECONDS    for all of it, waits included\n"
    "      --budget SHARE        retries per request to one host: 20% (default), tokens, or none\n"
    "      --idempotency-key[=KEY]  send it, and let a POST be repeated; without KEY, or with "
    "auto,\n"
    "                            a new one for each URL\n"
    "      --repeatable          the request is safe to repeat as it is\n"
    "      --hedge               GET: a second request if the first takes longer than most\n"
    "      --incoming-attempt N  the request that we serve is itself an N-th attempt\n"
    "      --traceparent[=VALUE]  take part in this trace; without VALUE, begin one\n"
    "      --parallel N          so many URLs at once; default 1\n"
    "\n"
    "The output:\n"
    "  -o, --output FILE         the n-th is for the n-th URL; default standard output\n"
    "  -i, --include             the head of the answer before the body\n"
    "  -I, --head                a HEAD request, and the head of its answer\n"
    "  -f, --fail                an answer of 300 or more is a failure, and its body is not "
    "written\n"
    "  -s, --silent              no progress and no messages; -S, --show-error: messages all the "
    "same\n"
    "      --explain             each question of each decision, on standard error\n"
    "      --json                a report as one JSON object per URL, instead of the body\n"
    "\n"
    "Exit status: 0 answered, 1 the output could not be written, 2 wrong arguments, 3 refused\n"
    "(with --fail), 4 gave up, 5 not repeated since it may have been processed, 6 no such target "
    "or\n"
    "not to be trusted, 7 the body broke off, 130 interrupted. Of several URLs, the first "
    "failure's.\n";

enum option_code {
    OPT_DATA_RAW = 256,
    OPT_DATA_BINARY,
    OPT_COMPRESSED,
    OPT_CONNECT_TIMEOUT,
    OPT_CACERT,
    OPT_CERT,
    OPT_KEY,
    OPT_RESOLVE,
    OPT_HTTP11,
    OPT_HTTP2,
    OPT_HTTP2_PRIOR,
    OPT_POLICY,
    OPT_RETRIES,
    OPT_DEADLINE,
    OPT_BUDGET,
    OPT_IDEMPOTENCY_KEY,
    OPT_REPEATABLE,
    OPT_HEDGE,
    OPT_INCOMING_ATTEMPT,
    OPT_TRACEPARENT,
    OPT_PARALLEL,
    OPT_EXPLAIN,
    OPT_JSON,
    OPT_URL,
    OPT_HELP,
};

static const char short_options[] = ":X:H:d:T:u:A:Lm:kx:o:iIfsSh";

static const struct option long_options[] = {
    {"request", required_argument, NULL, 'X'},
    {"header", required_argument, NULL, 'H'},
    {"data", required_argument, NULL, 'd'},
    {"data-raw", required_argument, NULL, OPT_DATA_RAW},
    {"data-binary", required_argument, NULL, OPT_DATA_BINARY},
    {"upload-file", required_argument, NULL, 'T'},
    {"user", required_argument, NULL, 'u'},
    {"user-agent", required_argument, NULL, 'A'},
    {"location", no_argument, NULL, 'L'},
    {"compressed", no_argument, NULL, OPT_COMPRESSED},
    {"max-time", required_argument, NULL, 'm'},
    {"connect-timeout", required_argument, NULL, OPT_CONNECT_TIMEOUT},
    {"cacert", required_argument, NULL, OPT_CACERT},
    {"cert", required_argument, NULL, OPT_CERT},
    {"key", required_argument, NULL, OPT_KEY},
    {"insecure", no_argument, NULL, 'k'},
    {"proxy", required_argument, NULL, 'x'},
    {"resolve", required_argument, NULL, OPT_RESOLVE},
    {"http1.1", no_argument, NULL, OPT_HTTP11},
    {"http2", no_argument, NULL, OPT_HTTP2},
    {"http2-prior-knowledge", no_argument, NULL, OPT_HTTP2_PRIOR},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"retries", required_argument, NULL, OPT_RETRIES},
    {"deadline", required_argument, NULL, OPT_DEADLINE},
    {"budget", required_argument, NULL, OPT_BUDGET},
    {"idempotency-key", optional_argument, NULL, OPT_IDEMPOTENCY_KEY},
    {"repeatable", no_argument, NULL, OPT_REPEATABLE},
    {"hedge", no_argument, NULL, OPT_HEDGE},
    {"incoming-attempt", required_argument, NULL, OPT_INCOMING_ATTEMPT},
    {"traceparent", optional_argument, NULL, OPT_TRACEPARENT},
    {"parallel", required_argument, NULL, OPT_PARALLEL},
    {"output", required_argument, NULL, 'o'},
    {"include", no_argument, NULL, 'i'},
    {"head", no_argument, NULL, 'I'},
    {"fail", no_argument, NULL, 'f'},
    {"silent", no_argument, NULL, 's'},
    {"show-error", no_argument, NULL, 'S'},
    {"explain", no_argument, NULL, OPT_EXPLAIN},
    {"json", no_argument, NULL, OPT_JSON},
    {"url", required_argument, NULL, OPT_URL},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* What is said once and counted in when all is read. */
struct pending {
    struct fetch_options *options;
    int64_t retries; /* -1: not said */
    int64_t deadline_ms;
    size_t data_size;
    bool is_upload_said;
};

static int refuse(const char *what)
{
    return cli_usage("fetch", "%s", what);
}

static int no_memory(void)
{
    fputs("lull fetch: there is not enough memory.\n", stderr);
    return CLI_FAILED;
}

/* ---- bodies ---- */

static bool append(struct pending *pending, const char *data, size_t length)
{
    struct fetch_options *options = pending->options;
    size_t wanted = options->data_length + length;
    if (wanted > pending->data_size) {
        size_t size = wanted * 2 > 4096 ? wanted * 2 : 4096;
        char *moved = realloc(options->data, size);
        if (!moved) {
            return false;
        }
        options->data = moved;
        pending->data_size = size;
    }
    if (length > 0) {
        memcpy(options->data + options->data_length, data, length);
    }
    options->data_length = wanted;
    return true;
}

static size_t without_line_ends(char *data, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        if (data[i] != '\r' && data[i] != '\n' && data[i] != '\0') {
            data[kept++] = data[i];
        }
    }
    return kept;
}

/* All of the file, standard input for "-". The name is the user's own, so it may be repeated. */
static int append_file(struct pending *pending, const char *option, const char *name,
                       bool is_stripped)
{
    char buffer[65536];
    size_t length = 0;
    bool is_memory = true;
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
    if (!file) {
        return cli_usage("fetch", "%s: the file '%s' cannot be read: %s", option, name,
                         strerror(errno));
    }
    while (is_memory && (length = fread(buffer, 1, sizeof buffer, file)) > 0) {
        length = is_stripped ? without_line_ends(buffer, length) : length;
        is_memory = append(pending, buffer, length);
    }
    bool is_bad = ferror(file) != 0;
    if (file != stdin) {
        (void)fclose(file);
    }
    if (is_bad) {
        return cli_usage("fetch", "%s: the file '%s' cannot be read", option, name);
    }
    return is_memory ? CLI_OK : no_memory();
}

static int read_data(struct pending *pending, int code, const char *value)
{
    struct fetch_options *options = pending->options;
    if (options->has_data && !append(pending, "&", 1)) {
        return no_memory();
    }
    options->has_data = true;
    if (*value == '@' && code != OPT_DATA_RAW) {
        return append_file(pending, code == 'd' ? "--data" : "--data-binary", value + 1,
                           code == 'd');
    }
    return append(pending, value, strlen(value)) ? CLI_OK : no_memory();
}

/* A regular file is read again for each attempt; anything else is kept in memory for that. */
static int read_upload(struct pending *pending, const char *name)
{
    struct fetch_options *options = pending->options;
    struct stat file;
    if (pending->is_upload_said) {
        return refuse("--upload-file may be given once; it is sent to every URL");
    }
    pending->is_upload_said = true;
    int fd = strcmp(name, "-") == 0 ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) {
        options->upload_fd = fd;
        return CLI_OK;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    options->has_data = true;
    return append_file(pending, "--upload-file", name, false);
}

/* ---- the other values ---- */

static int read_header(struct fetch_options *options, const char *text)
{
    size_t name = strcspn(text, ":;");
    if (!cli_is_token(text, name) || text[name] == '\0' || strpbrk(text, "\r\n")) {
        return refuse("--header must be 'NAME: VALUE', on one line");
    }
    struct curl_slist *list = curl_slist_append(options->headers, text);
    options->headers = list ? list : options->headers;
    return list ? CLI_OK : no_memory();
}

static int read_resolve(struct fetch_options *options, const char *text)
{
    struct curl_slist *list = curl_slist_append(options->resolve, text);
    options->resolve = list ? list : options->resolve;
    return list ? CLI_OK : no_memory();
}

static int read_budget(struct fetch_options *options, const char *text)
{
    struct lull_budget_config *budget = &options->client.budget;
    char digits[8] = "";
    size_t length = strlen(text);
    uint64_t percent = 0;
    options->client.has_budget = strcmp(text, "none") != 0;
    if (!options->client.has_budget) {
        return CLI_OK;
    }
    if (strcmp(text, "tokens") == 0) {
        budget->form = LULL_BUDGET_TOKEN;
        return CLI_OK;
    }
    if (length > 1 && length < sizeof digits && text[length - 1] == '%') {
        memcpy(digits, text, length - 1);
    }
    if (!cli_parse_number(digits, 0, 100, &percent)) {
        return refuse("--budget must be a share like 20%, tokens or none");
    }
    budget->form = LULL_BUDGET_RATIO;
    budget->ratio_permille = (uint32_t)percent * 10;
    return CLI_OK;
}

static int read_retry_option(struct pending *pending, int code, const char *value)
{
    struct fetch_options *options = pending->options;
    uint64_t number = 0;
    int result = CLI_OK;
    switch (code) {
    case OPT_POLICY:
        return cli_read_policy("fetch", "client", value, &options->policy);
    case OPT_RETRIES:
        result = cli_read_count("fetch", "retries", value, 0, LULL_POLICY_RETRIES_MAX, &number);
        pending->retries = (int64_t)number;
        return result;
    case OPT_DEADLINE:
        return cli_read_seconds("fetch", "deadline", value, &pending->deadline_ms);
    case OPT_BUDGET:
        return read_budget(options, value);
    case OPT_IDEMPOTENCY_KEY:
        options->is_key_auto = !value || strcmp(value, "auto") == 0;
        options->idempotency_key = value;
        return value && (!*value || strpbrk(value, "\r\n"))
                   ? refuse("--idempotency-key must not be empty, and on one line")
                   : CLI_OK;
    case OPT_INCOMING_ATTEMPT:
        result = cli_read_count("fetch", "incoming-attempt", value, 1, 1000000, &number);
        options->incoming_attempt = (uint32_t)number;
        return result;
    case OPT_TRACEPARENT:
        options->traceparent = value ? value : "";
        return CLI_OK;
    case OPT_PARALLEL:
    default:
        result = cli_read_count("fetch", "parallel", value, 1, PARALLEL_MAX, &number);
        options->parallel = (uint32_t)number;
        return result;
    }
}

static int read_flag(struct fetch_options *options, int code)
{
    switch (code) {
    case 'L':
        options->is_following = true;
        break;
    case 'k':
        options->is_insecure = true;
        break;
    case 'i':
        options->is_included = true;
        break;
    case 'I':
        options->is_head = true;
        break;
    case 'f':
        options->is_failing = true;
        break;
    case 's':
        options->is_silent = true;
        break;
    case 'S':
        options->is_showing_errors = true;
        break;
    case OPT_COMPRESSED:
        options->is_compressed = true;
        break;
    case OPT_HTTP11:
        options->http_version = CURL_HTTP_VERSION_1_1;
        break;
    case OPT_HTTP2:
        options->http_version = CURL_HTTP_VERSION_2;
        break;
    case OPT_HTTP2_PRIOR:
        options->http_version = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
        break;
    case OPT_REPEATABLE:
        options->is_repeatable = true;
        break;
    case OPT_HEDGE:
        options->is_hedged = true;
        break;
    case OPT_EXPLAIN:
        options->is_explaining = true;
        break;
    case OPT_JSON:
        options->is_json = true;
        break;
    case OPT_HELP:
    default:
        options->is_help = true;
        break;
    }
    return CLI_OK;
}

static int read_option(struct pending *pending, int code, char *value)
{
    struct fetch_options *options = pending->options;
    switch (code) {
    case 'X':
        options->method = value;
        return cli_is_token(value, strlen(value))
                   ? CLI_OK
                   : refuse("--request must be an HTTP method, like POST");
    case 'H':
        return read_header(options, value);
    case 'd':
    case OPT_DATA_RAW:
    case OPT_DATA_BINARY:
        return read_data(pending, code, value);
    case 'T':
        return read_upload(pending, value);
    case 'u':
        options->user = value;
        return CLI_OK;
    case 'A':
        options->user_agent = value;
        return CLI_OK;
    case 'm':
        return cli_read_seconds("fetch", "max-time", value, &options->max_time_ms);
    case OPT_CONNECT_TIMEOUT:
        return cli_read_seconds("fetch", "connect-timeout", value, &options->connect_timeout_ms);
    case 'x':
        options->proxy = value;
        return CLI_OK;
    case OPT_CACERT:
        options->cacert = value;
        return CLI_OK;
    case OPT_CERT:
        options->cert = value;
        return CLI_OK;
    case OPT_KEY:
        options->key = value;
        return CLI_OK;
    case OPT_RESOLVE:
        return read_resolve(options, value);
    case 'o':
        options->outputs[options->output_count++] = value;
        return CLI_OK;
    case OPT_URL:
        options->urls[options->url_count++] = value;
        return CLI_OK;
    default:
        return code >= OPT_POLICY && code <= OPT_PARALLEL && code != OPT_REPEATABLE &&
                       code != OPT_HEDGE
                   ? read_retry_option(pending, code, value)
                   : read_flag(options, code);
    }
}

/* ---- all of it ---- */

static int check(struct pending *pending)
{
    struct fetch_options *options = pending->options;
    struct lull_policy_error error;
    if (options->url_count == 0) {
        return refuse("needs a URL");
    }
    if (options->output_count > options->url_count) {
        return refuse("--output is given more often than there are URLs");
    }
    if (pending->is_upload_said && options->has_data && options->upload_fd >= 0) {
        return refuse("--upload-file and --data do not go together");
    }
    if (options->is_head && (options->has_data || options->upload_fd >= 0)) {
        return refuse("--head and a body do not go together");
    }
    if (options->is_head && !options->method) {
        options->method = "HEAD";
    } else if (pending->is_upload_said && !options->method) {
        options->method = "PUT";
    }
    if (pending->retries >= 0) {
        options->policy.retries = (uint32_t)pending->retries;
    }
    if (pending->deadline_ms > 0) {
        options->policy.deadline_ms = pending->deadline_ms;
    }
    options->policy.kind = LULL_KIND_REQUEST; /* a caller waits, whatever the policy was made for */
    if (lull_policy_validate(&options->policy, &error) != LULL_OK) {
        return cli_usage("fetch", "the policy's %s: %s", error.field, error.text);
    }
    bool is_form = options->has_data && !pending->is_upload_said;
    for (struct curl_slist *header = options->headers; header; header = header->next) {
        is_form = is_form && strncasecmp(header->data, "content-type", 12) != 0;
    }
    return is_form ? read_header(options, "Content-Type: application/x-www-form-urlencoded")
                   : CLI_OK;
}

int fetch_options_read(struct fetch_options *options, int argc, char **argv)
{
    struct pending pending = {.options = options, .retries = -1};
    int code = 0;
    *options = (struct fetch_options){
        .upload_fd = -1,
        .connect_timeout_ms = LULL_SECONDS(10),
        .parallel = 1,
        .http_version = CURL_HTTP_VERSION_NONE,
        .urls = calloc((size_t)argc + 1, sizeof *options->urls),
        .outputs = calloc((size_t)argc + 1, sizeof *options->outputs),
    };
    lull_client_config_default(&options->client);
    options->policy = options->client.policy;
    if (!options->urls || !options->outputs) {
        return no_memory();
    }
    opterr = 0;
    while ((code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        if (code == 'h') {
            code = OPT_HELP;
        }
        int result = code == '?' || code == ':'
                         ? cli_refuse_option("fetch", long_options, code, argv[optind - 1])
                         : read_option(&pending, code, optarg);
        if (result != CLI_OK) {
            return result;
        }
    }
    for (; optind < argc; optind++) {
        options->urls[options->url_count++] = argv[optind];
    }
    return options->is_help ? CLI_OK : check(&pending);
}

void fetch_options_free(struct fetch_options *options)
{
    curl_slist_free_all(options->headers);
    curl_slist_free_all(options->resolve);
    free(options->data);
    free(options->urls);
    free(options->outputs);
    if (options->upload_fd >= 0) {
        (void)close(options->upload_fd);
    }
}

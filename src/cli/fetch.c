/* fetch - `lull fetch`: HTTP requests from the shell (H2). SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "call_print.h"
#include "cli.h"
#include "fetch_options.h"
#include "fetch_output.h"
#include "lull/error.h"
#include "lull/os.h"
#include "lull/version.h"
#include "progress.h"

#define REDIRECTS_MAX 10L
#define PROGRESS_MS 100

enum fetch_exit {
    FETCH_REFUSED = 3,
    FETCH_GAVE_UP = 4,
    FETCH_NOT_REPEATED = 5,
    FETCH_NO_TARGET = 6,
    FETCH_BROKEN = 7,
    FETCH_INTERRUPTED = 130,
};

struct fetch;

/* One URL. */
struct job {
    struct fetch *fetch;
    struct call_place place;
    struct fetch_output output;
    char key[CLI_KEY_SIZE];
    int exit_code;
    int64_t again_ms; /* monotonic; while it waits for a retry, else 0 */
};

struct fetch {
    struct fetch_options options;
    struct lull_client *client;
    struct lull_multi *multi;
    struct lull_cancel *cancel;
    struct job *jobs;
    size_t next; /* the first that has not begun */
    size_t done;
    struct progress progress;
    bool has_messages;
    bool has_progress;
    bool is_interrupted;
    int signal_fd;
};

/* ---- progress, on a terminal ---- */

static void show_one(struct progress *progress, const struct job *job, int64_t mono_ms)
{
    const struct fetch_output *output = &job->output;
    if (job->again_ms > mono_ms) {
        char text[CLI_DURATION_SIZE];
        progress_text(progress, "waiting, again in %s",
                      cli_format_duration(job->again_ms - mono_ms, text));
    } else if (output->expected > 0) {
        progress_bar(progress, (uint64_t)output->written, (uint64_t)output->expected,
                     "%3d %%  %" PRId64 " of %" PRId64 " bytes",
                     (int)(output->written * 100 / output->expected), output->written,
                     output->expected);
    } else {
        progress_text(progress, "%" PRId64 " bytes", output->written);
    }
}

static void show_progress(struct fetch *fetch)
{
    if (!fetch->has_progress) {
        return;
    }
    if (fetch->options.url_count == 1) {
        show_one(&fetch->progress, &fetch->jobs[0], lull_os_mono_ms());
    } else {
        progress_bar(&fetch->progress, fetch->done, fetch->options.url_count,
                     "%zu of %zu done, %zu under way", fetch->done, fetch->options.url_count,
                     lull_multi_count(fetch->multi));
    }
}

/* ---- the hooks of a request ---- */

static bool before_wait(void *userdata, const struct lull_attempt *attempt)
{
    struct job *job = userdata;
    job->again_ms = lull_os_mono_ms() + attempt->delay_ms;
    if (job->fetch->has_messages) {
        progress_clear(&job->fetch->progress);
        call_print_retry(stderr, job->place, attempt);
    }
    return true;
}

static void after_decision(void *userdata, const struct lull_attempt *attempt,
                           const struct lull_verdict *verdict, const struct lull_trace *trace)
{
    struct job *job = userdata;
    progress_clear(&job->fetch->progress);
    call_print_decision(stderr, job->place, attempt, verdict, trace);
}

static void configure(void *userdata, CURL *easy)
{
    const struct job *job = userdata;
    const struct fetch_options *options = &job->fetch->options;
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT,
                           options->user_agent ? options->user_agent : "lull/" LULL_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, (long)options->is_following);
    (void)curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, options->http_version);
    (void)curl_easy_setopt(easy, CURLOPT_USERPWD, options->user);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, options->proxy);
    (void)curl_easy_setopt(easy, CURLOPT_RESOLVE, options->resolve);
    (void)curl_easy_setopt(easy, CURLOPT_SSLCERT, options->cert);
    (void)curl_easy_setopt(easy, CURLOPT_SSLKEY, options->key);
    if (options->cacert) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, options->cacert);
    }
    if (options->is_insecure) {
        (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (options->is_compressed) {
        (void)curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    }
}

/* ---- the end of one ---- */

static int code_of(const struct job *job, const struct lull_result *result)
{
    if (job->output.is_failed) {
        return CLI_FAILED;
    }
    switch (result->reason) {
    case LULL_REASON_DELIVERED:
        return result->is_body_complete ? CLI_OK : FETCH_BROKEN;
    case LULL_REASON_CANCELLED:
        return FETCH_INTERRUPTED;
    case LULL_REASON_NOT_IDEMPOTENT:
    case LULL_REASON_BODY_SPENT:
        return FETCH_NOT_REPEATED;
    case LULL_REASON_INVALID_TARGET:
        return FETCH_NO_TARGET;
    case LULL_REASON_GONE:
    case LULL_REASON_AUTH:
    case LULL_REASON_REJECTED:
    case LULL_REASON_PAYLOAD_TOO_LARGE:
        if (result->status == 0) { /* .invalid: nobody was asked */
            return FETCH_NO_TARGET;
        }
        return job->fetch->options.is_failing ? FETCH_REFUSED : CLI_OK;
    default:
        return FETCH_GAVE_UP;
    }
}

static void on_done(void *userdata, struct lull_result *result)
{
    struct job *job = userdata;
    struct fetch *fetch = job->fetch;
    progress_clear(&fetch->progress);
    int64_t body_bytes = job->output.written;
    if (!fetch_output_finish(&job->output) && fetch->has_messages) {
        fputs("lull fetch: the output could not be written.\n", stderr);
    }
    job->exit_code = code_of(job, result);
    if (job->exit_code > CLI_FAILED && fetch->has_messages) {
        call_print_failure(stderr, job->place, result);
    }
    if (fetch->options.is_json) {
        call_print_json(stdout, job->place, result, body_bytes, job->exit_code);
    }
    fetch->done++;
    lull_result_free(result);
}

/* ---- beginning one ---- */

static struct lull_body body_of(const struct fetch_options *options)
{
    struct lull_body body = {.kind = LULL_BODY_NONE, .fd = -1};
    if (options->upload_fd >= 0) {
        body = (struct lull_body){.kind = LULL_BODY_FILE, .fd = options->upload_fd, .length = -1};
    } else if (options->has_data) {
        body = (struct lull_body){.kind = LULL_BODY_MEMORY,
                                  .fd = -1,
                                  .data = options->data,
                                  .length = (int64_t)options->data_length};
    }
    return body;
}

static bool begin_job(struct fetch *fetch, size_t index)
{
    const struct fetch_options *options = &fetch->options;
    struct job *job = &fetch->jobs[index];
    const char *name = index < options->output_count ? options->outputs[index] : NULL;
    *job = (struct job){.fetch = fetch, .place = {"fetch", index + 1, options->url_count}};
    job->output = (struct fetch_output){
        .name = name && strcmp(name, "-") != 0 ? name : NULL,
        .is_dropped = options->is_json && !name,
        .is_included = options->is_included,
        .is_head = options->is_head,
        .is_failing = options->is_failing,
        .expected = -1,
    };
    struct lull_request request;
    lull_request_init(&request, options->urls[index]);
    request.method = options->method;
    request.headers = options->headers;
    request.body = body_of(options);
    request.policy = &options->policy;
    request.idempotency_key = options->idempotency_key;
    if (options->is_key_auto) {
        cli_make_key(job->key);
        request.idempotency_key = job->key;
    }
    request.is_repeatable = options->is_repeatable;
    request.is_hedged = options->is_hedged;
    request.timeout_ms = options->max_time_ms;
    request.connect_timeout_ms = options->connect_timeout_ms;
    request.incoming_attempt = options->incoming_attempt;
    request.traceparent = options->traceparent;
    request.cancel = fetch->cancel;
    request.sink = fetch_output_sink(&job->output);
    request.hooks =
        (struct lull_hooks){.userdata = job,
                            .before_wait = before_wait,
                            .configure = configure,
                            .after_decision = options->is_explaining ? after_decision : NULL};
    return lull_multi_add(fetch->multi, &request, on_done, job) == LULL_OK;
}

/* ---- the loop ---- */

/* Signals are read like input, so that nothing happens inside a handler. */
static void watch_signals(struct fetch *fetch)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    fetch->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signals(struct fetch *fetch)
{
    struct signalfd_siginfo info;
    if (fetch->signal_fd >= 0 && read(fetch->signal_fd, &info, sizeof info) == sizeof info) {
        fetch->is_interrupted = true;
        lull_cancel_signal(fetch->cancel);
    }
}

static bool fetch_all(struct fetch *fetch)
{
    const struct fetch_options *options = &fetch->options;
    CURLM *curl = lull_multi_curl(fetch->multi);
    while (fetch->done < options->url_count) {
        struct curl_waitfd wait_for = {.fd = fetch->signal_fd, .events = CURL_WAIT_POLLIN};
        int running = 0;
        while (fetch->next < options->url_count && !fetch->is_interrupted &&
               lull_multi_count(fetch->multi) < options->parallel) {
            if (!begin_job(fetch, fetch->next++)) {
                return false;
            }
        }
        int64_t wait_ms = lull_multi_step(fetch->multi);
        if (lull_multi_count(fetch->multi) == 0) {
            if (fetch->is_interrupted) {
                return true;
            }
            continue; /* the next can begin */
        }
        int limit_ms = fetch->has_progress ? PROGRESS_MS : 10000;
        int poll_ms = wait_ms >= 0 && wait_ms < limit_ms ? (int)wait_ms : limit_ms;
        show_progress(fetch);
        if (curl_multi_poll(curl, &wait_for, fetch->signal_fd >= 0, poll_ms, NULL) != CURLM_OK ||
            curl_multi_perform(curl, &running) != CURLM_OK) {
            return false;
        }
        take_signals(fetch);
    }
    return true;
}

/* The first failure's; an interrupt is one. */
static int exit_code_of(const struct fetch *fetch)
{
    for (size_t i = 0; i < fetch->next; i++) {
        if (fetch->jobs[i].exit_code != CLI_OK) {
            return fetch->jobs[i].exit_code;
        }
    }
    return fetch->is_interrupted ? FETCH_INTERRUPTED : CLI_OK;
}

static int run_with_client(struct fetch *fetch)
{
    const struct fetch_options *options = &fetch->options;
    bool is_to_terminal = isatty(STDOUT_FILENO) && options->output_count < options->url_count;
    fetch->has_messages = !options->is_silent || options->is_showing_errors;
    fetch->has_progress = !options->is_silent && !options->is_explaining && isatty(STDERR_FILENO) &&
                          !(is_to_terminal && !options->is_json);
    fetch->jobs = calloc(options->url_count, sizeof *fetch->jobs);
    fetch->cancel = lull_cancel_new();
    bool is_good = fetch->jobs && fetch->cancel &&
                   lull_client_new(&fetch->client, &options->client) == LULL_OK &&
                   lull_multi_new(&fetch->multi, fetch->client, NULL) == LULL_OK;
    if (is_good) {
        watch_signals(fetch);
        is_good = fetch_all(fetch);
        progress_clear(&fetch->progress);
    }
    int exit_code = is_good ? exit_code_of(fetch) : CLI_FAILED;
    if (!is_good) {
        fputs("lull fetch: there is not enough memory.\n", stderr);
    }
    lull_multi_destroy(fetch->multi);
    lull_client_destroy(fetch->client);
    lull_cancel_destroy(fetch->cancel);
    if (fetch->signal_fd >= 0) {
        (void)close(fetch->signal_fd);
    }
    free(fetch->jobs);
    return exit_code;
}

static int run(int argc, char **argv)
{
    static struct fetch fetch;
    fetch.signal_fd = -1;
    int result = fetch_options_read(&fetch.options, argc, argv);
    if (result == CLI_OK && fetch.options.is_help) {
        fputs(fetch_help, stdout);
    } else if (result == CLI_OK) {
        result = run_with_client(&fetch);
    }
    fetch_options_free(&fetch.options);
    return result;
}

const struct cli_command cli_fetch = {
    .name = "fetch",
    .summary = "make an HTTP request, repeated only where that is right",
    .help = fetch_help,
    .run = run,
};

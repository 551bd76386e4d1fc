/* api_status - how the server is: for people, for load balancers, for Prometheus; and what it can
 * do. SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api_answer.h"
#include "api_request.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/version.h"
#include "message_json.h"
#include "openapi.h"
#include "put_result.h"

/* ---- /v1/status ---- */

static bool status_begin(struct request *request)
{
    request->state = calloc(1, sizeof(struct job_status));
    return request->state || request_refuse_memory(request);
}

static enum MHD_Result status_finish(struct request *request)
{
    struct job_status *status = request->state;
    status->job.kind = JOB_STATUS;
    return request_run(request, &status->job);
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *queue_json(const struct job_status *status)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:f}", "waiting", number(status->store.waiting),
                     "leased", number(status->store.leased), "dead", number(status->store.dead),
                     "oldest_due_at", message_json_time(status->store.oldest_due_ms),
                     "leaving_per_s", (double)status->engine.leaving_milli_per_s / 1000);
}

/* Only the reasons that there have been. */
static json_t *dead_json(const struct totals *totals)
{
    json_t *dead = json_object();
    for (int i = 0; i < LULL_REASONS; i++) {
        if (totals->dead[i] > 0 &&
            json_object_set_new(dead, lull_reason_to_string((enum lull_reason)i),
                                number(totals->dead[i]))) {
            json_decref(dead);
            return NULL;
        }
    }
    return dead;
}

static json_t *totals_json(const struct totals *totals)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "accepted",
                     number(totals->accepted), "repeated", number(totals->repeated), "replaced",
                     number(totals->replaced), "attempts", number(totals->attempts), "retries",
                     number(totals->retries), "delivered", number(totals->delivered), "lost_leases",
                     number(totals->lost_leases), "commits", number(totals->commits), "dead",
                     dead_json(totals));
}

static json_t *services_json(const struct job_gate *gates, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        bool has_end = gates[i].stop != GATE_OPEN && gates[i].stop != GATE_FULL;
        json_t *service =
            json_pack("{s:s, s:o, s:o, s:s, s:o}", "name", gates[i].service, "waiting",
                      number(gates[i].waiting), "leased", number(gates[i].leased), "stop",
                      gate_stop_to_string(gates[i].stop), "until",
                      message_json_time(has_end ? gates[i].until_ms : LULL_NEVER));
        if (json_array_append_new(list, service)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static enum MHD_Result status_resume(struct request *request)
{
    struct job_status *status = request->state;
    if (status->error) {
        put_result_error(status->error, &request->problem);
        return answer_problem(request, &request->problem);
    }
    int64_t up_ms = api_now_ms(request->api) - status->started_ms;
    json_t *json = json_pack("{s:s, s:o, s:o, s:b, s:b, s:o, s:o, s:o}", "version", lull_version(),
                             "started_at", message_json_time(status->started_ms), "uptime_s",
                             json_integer(up_ms > 0 ? up_ms / 1000 : 0), "draining",
                             status->is_draining, "disk_full", status->is_disk_full, "queue",
                             queue_json(status), "totals", totals_json(&status->totals), "services",
                             services_json(status->services, status->service_count));
    return answer_json(request, MHD_HTTP_OK, json);
}

static void status_clean_up(struct request *request)
{
    struct job_status *status = request->state;
    if (status) {
        free(status->services);
        free(status);
    }
}

const struct api_action api_status = {
    .begin = status_begin,
    .finish = status_finish,
    .resume = status_resume,
    .clean_up = status_clean_up,
};

/* ---- without a job ---- */

static enum MHD_Result answer_word(struct request *request, const char *text)
{
    return answer_text(request, MHD_HTTP_OK, "application/json", text, strlen(text), NULL);
}

static enum MHD_Result health(struct request *request)
{
    return answer_word(request, "{\"status\":\"alive\"}");
}

const struct api_action api_health = {.finish = health};

/* A queue that is too long is no reason to send clients elsewhere: with one store, elsewhere is no
 * better. */
static enum MHD_Result ready(struct request *request)
{
    struct problem problem;
    if (!request_is_able(request, &problem)) {
        return answer_problem(request, &problem);
    }
    return answer_word(request, "{\"status\":\"ready\"}");
}

const struct api_action api_ready = {.finish = ready};

static enum MHD_Result metrics(struct request *request)
{
    const struct api_config *config = &request->api->config;
    char *text = NULL;
    size_t length = config->metrics(config->server, &text);
    if (!text) {
        (void)request_refuse_memory(request);
        return answer_problem(request, &request->problem);
    }
    enum MHD_Result result = answer_text(
        request, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, length, NULL);
    free(text);
    return result;
}

const struct api_action api_metrics = {.finish = metrics};

static enum MHD_Result openapi(struct request *request)
{
    return answer_text(request, MHD_HTTP_OK, "application/yaml", (const char *)openapi_yaml,
                       openapi_yaml_length, NULL);
}

const struct api_action api_openapi = {.finish = openapi};

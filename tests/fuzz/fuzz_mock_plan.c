/* Any text as a plan. What parses can be walked, and each answer is one that can be sent; what does
 * not leaves the plan alone and says where. */
#include <assert.h>
#include <string.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "mock_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct mock_answer *answer)
{
    struct mock_header header;
    assert(answer->action != MOCK_STATUS || (answer->status >= 200 && answer->status <= 599));
    assert(answer->delay_ms <= MOCK_DELAY_MAX_MS);
    mock_wait_write(answer, INT64_C(1767225600500), &header);
    assert(strlen(header.value) < sizeof header.value);
    assert(!strpbrk(header.value, "\r\n"));
    assert(header.not_before_ms == LULL_NEVER || header.not_before_ms > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mock_plan plan;
    struct mock_plan_error error = {.offset = SIZE_MAX};
    struct mock_walk walk;
    plan.step_count = 77;
    if (mock_plan_parse(&plan, (const char *)data, size, &error) != LULL_OK) {
        assert(plan.step_count == 77);
        assert(error.offset <= size);
        assert(strlen(error.text) > 0 && strlen(error.text) < sizeof error.text);
        return 0;
    }
    assert(plan.step_count <= MOCK_STEPS_MAX && plan.rule_count <= MOCK_RULES_MAX);
    mock_plan_start(&plan, 0);
    mock_walk_init(&walk, size);
    for (int64_t i = 0; i < 100; i++) {
        struct mock_answer answer = mock_walk_next(&walk, &plan, i * 50);
        check_answer(&answer);
    }
    return 0;
}

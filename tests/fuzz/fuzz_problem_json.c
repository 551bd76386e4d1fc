/* C10: any body. What is found fits its place; and the verdict of a 503 is always one of two. */
#include <assert.h>
#include <string.h>

#include "json_scan.h"
#include "lull/lull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_wanted wanted[] = {{.name = "type"}, {.name = "errno"}};
    static struct lull_policy policy;
    static const char text[] = "client problem.urn:x=give_up";
    if (json_scan((const char *)data, size, wanted, 2) && wanted[0].is_string) {
        assert(strlen(wanted[0].string) < sizeof wanted[0].string);
    }
    if (policy.name[0] == '\0') {
        assert(lull_policy_parse(&policy, text, strlen(text), NULL) == LULL_OK);
    }
    struct lull_header header = {"Content-Type", 12, "application/problem+json", 24};
    struct lull_outcome outcome = {.kind = LULL_OUTCOME_STATUS,
                                   .status = 503,
                                   .headers = &header,
                                   .header_count = 1,
                                   .body = (const char *)data,
                                   .body_length = size};
    enum lull_class class_ =
        lull_classify(&policy, LULL_KIND_REQUEST, LULL_VENDOR_OTHER, &outcome).class_;
    assert(class_ == LULL_CLASS_UNAVAILABLE || class_ == LULL_CLASS_REJECTED);
    return 0;
}

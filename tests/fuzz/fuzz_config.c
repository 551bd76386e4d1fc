/* Any text as lull.conf: it is taken, or each mistake is told with a line that is there. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
    int line_count;
    unsigned count;
};

static void note(void *userdata, const char *path, int line, const char *where,
                 const char *sentence)
{
    struct told *told = userdata;
    assert(strlen(sentence) > 0 && where);
    assert(!path || (line >= 0 && line <= told->line_count));
    told->count++;
}

/* A file without a disk. */
static const char *make_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("conf", MFD_CLOEXEC);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    assert(ftruncate(fd, 0) == 0);
    assert(pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config;
    struct told told = {.line_count = 1};
    struct config_report report = {&told, note};
    for (size_t i = 0; i < size; i++) {
        told.line_count += data[i] == '\n';
    }
    assert(config_init(&config));
    bool is_good = config_read_file(&config, make_file(data, size), &report);
    assert(is_good == (told.count == 0));
    assert(config.limits.senders > 0 && config.listen && *config.listen);
    for (size_t i = 0; i < config.policy_count; i++) {
        struct lull_policy policy;
        const char *name = config.policies[i].name;
        assert(config_policy_parse(&config, name, strlen(name), &policy, NULL) == 0);
    }
    for (size_t i = 0; i < config.service_count; i++) {
        assert(config_find_service(&config, config.services[i].name) == &config.services[i]);
    }
    config_clean_up(&config);
    return 0;
}

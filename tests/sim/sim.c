/*
 * sim - engine, delivery and store in a seeded world, against a model (X3).
 *
 *   sim --seed N [--steps M] [--verbose]     one world, and what happened in it
 *   sim --seeds A..B [--steps M]             many; a line for each that fails, and a last one
 *   sim --from N                             new seeds from there on, until one fails or it is
 * stopped
 *
 * The same seed gives the same world and the same hash of all that happened, on every machine.
 * Every sixteenth of many is run twice to see that.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define STEPS_DEFAULT 1500

struct options {
    uint64_t first;
    uint64_t last;
    uint64_t steps;
    bool is_one;
    bool is_verbose;
    bool is_endless;
};

static int usage(void)
{
    (void)fputs("usage: sim --seed N | --seeds A..B | --from N  [--steps M] [--verbose]\n", stderr);
    return 2;
}

static bool read_number(const char *text, char **ret_rest, uint64_t *ret_number)
{
    if (*text < '0' || *text > '9') {
        return false;
    }
    *ret_number = strtoull(text, ret_rest, 10);
    return true;
}

static bool read_range(const char *text, struct options *options)
{
    char *rest = NULL;
    return read_number(text, &rest, &options->first) && strncmp(rest, "..", 2) == 0 &&
           read_number(rest + 2, &rest, &options->last) && *rest == '\0' &&
           options->first <= options->last;
}

static bool read_one(const char *text, uint64_t *ret_number)
{
    char *rest = NULL;
    return read_number(text, &rest, ret_number) && *rest == '\0';
}

static bool read_options(int argc, char **argv, struct options *options)
{
    bool is_told = false;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--verbose") == 0) {
            options->is_verbose = true;
            continue;
        }
        bool is_good = false;
        if (strcmp(argv[i], "--seed") == 0) {
            is_good = read_one(value, &options->first);
            options->last = options->first;
            is_told = options->is_one = true;
        } else if (strcmp(argv[i], "--seeds") == 0) {
            is_good = read_range(value, options);
            is_told = true;
        } else if (strcmp(argv[i], "--from") == 0) {
            is_good = read_one(value, &options->first);
            options->last = UINT64_MAX;
            is_told = options->is_endless = true;
        } else if (strcmp(argv[i], "--steps") == 0) {
            is_good = read_one(value, &options->steps);
        }
        if (!is_good) {
            return false;
        }
        i++;
    }
    return is_told;
}

static bool run_one(uint64_t seed, const struct options *options, uint64_t *hash)
{
    struct world_result result =
        world_run(seed, options->steps, options->is_verbose, options->is_one);
    *hash ^= result.hash + seed;
    if (options->is_one) {
        (void)printf("hash %016" PRIx64 ", %" PRIu64 " events in %" PRId64 " virtual seconds\n",
                     result.hash, result.events, result.virtual_ms / 1000);
    }
    if (result.is_good && seed % 16 == 0 && !options->is_one) {
        struct world_result again = world_run(seed, options->steps, false, false);
        if (again.hash != result.hash) {
            (void)printf("seed %" PRIu64 " FAILED: the same seed, and another world\n", seed);
            return false;
        }
    }
    return result.is_good;
}

int main(int argc, char **argv)
{
    struct options options = {.steps = STEPS_DEFAULT};
    if (!read_options(argc, argv, &options)) {
        return usage();
    }
    uint64_t good = 0;
    uint64_t bad = 0;
    uint64_t hash = 0;
    for (uint64_t seed = options.first;; seed++) {
        bool is_good = run_one(seed, &options, &hash);
        good += is_good;
        bad += !is_good;
        if (options.is_endless && good % 100 == 0) {
            (void)printf("%" PRIu64 " seeds\n", good);
        }
        (void)fflush(stdout);
        if (seed == options.last || (options.is_endless && !is_good)) {
            break;
        }
    }
    if (!options.is_one) {
        (void)printf("%" PRIu64 " passed, %" PRIu64 " failed, hash %016" PRIx64 "\n", good, bad,
                     hash);
    }
    return bad ? 1 : 0;
}

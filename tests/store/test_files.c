/* What SQLite's file can meet: strangers, later versions, damage, another process, a full disk.
 * What is not ours is left byte for byte as it was. SPDX-License-Identifier: MIT */
#include "worlds.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- files ---- */

struct content {
    unsigned char *bytes;
    size_t length;
};

static struct content read_file(const char *path)
{
    struct content content = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    content.length = (size_t)ftell(file);
    content.bytes = malloc(content.length + 1);
    assert_non_null(content.bytes);
    rewind(file);
    assert_int_equal(fread(content.bytes, 1, content.length, file), content.length);
    assert_int_equal(fclose(file), 0);
    return content;
}

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void execute(const char *path, const char *statements)
{
    sqlite3 *connection = NULL;
    assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
    assert_int_equal(sqlite3_exec(connection, statements, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(connection), SQLITE_OK);
}

static int open_store(const char *path, struct store **ret_store, const char *said)
{
    struct store_opening opening;
    int error = store_sqlite_open(ret_store, path, &opening);
    if (error != LULL_OK && !strstr(opening.problem, said)) {
        print_error("%s\n", opening.problem);
        assert_true(false);
    }
    return error;
}

static void assert_refused(const char *path, int error, const char *said)
{
    struct store *store = NULL;
    struct content before = read_file(path);
    assert_int_equal(open_store(path, &store, said), error);
    assert_null(store);
    struct content after = read_file(path);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.bytes, after.bytes, before.length);
    free(before.bytes);
    free(after.bytes);
    char beside[128];
    (void)snprintf(beside, sizeof beside, "%s-wal", path);
    assert_int_not_equal(access(beside, F_OK), 0);
}

struct place {
    char folder[64];
    char path[96];
};

static void place_make(struct place *place)
{
    folder_make(place->folder, sizeof place->folder);
    (void)snprintf(place->path, sizeof place->path, "%s/lull.db", place->folder);
}

static void test_foreign_files_are_left_alone(void **state)
{
    (void)state;
    struct place place;
    place_make(&place);
    write_file(place.path, "dear diary\n", 11);
    assert_refused(place.path, STORE_ERR_FOREIGN, "not a database of Lull");
    char zeros[4096] = {0};
    write_file(place.path, zeros, sizeof zeros);
    assert_refused(place.path, STORE_ERR_FOREIGN, "not a database of Lull");
    (void)unlink(place.path);
    execute(place.path, "CREATE TABLE songs (name TEXT)");
    assert_refused(place.path, STORE_ERR_FOREIGN, "of another program");
    execute(place.path, "PRAGMA application_id = 1234567");
    assert_refused(place.path, STORE_ERR_FOREIGN, "of another program");
    folder_remove(place.folder);
}

static void make_ours(const char *path)
{
    struct store *store = NULL;
    uint32_t number = 0;
    assert_int_equal(open_store(path, &store, ""), LULL_OK);
    assert_int_equal(store_service(store, "fcm", 3, &number), LULL_OK);
    store_close(store);
}

static void test_a_later_version_is_left_alone(void **state)
{
    (void)state;
    struct place place;
    place_make(&place);
    make_ours(place.path);
    execute(place.path, "PRAGMA user_version = 99");
    assert_refused(place.path, STORE_ERR_FOREIGN, "of version 99");
    folder_remove(place.folder);
}

/* The version may be in the log alone. */
static void test_a_later_version_in_the_log_too(void **state)
{
    (void)state;
    struct place place;
    place_make(&place);
    make_ours(place.path);
    sqlite3 *connection = NULL;
    assert_int_equal(sqlite3_open(place.path, &connection), SQLITE_OK);
    (void)sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    assert_int_equal(sqlite3_exec(connection, "PRAGMA user_version = 99", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(connection), SQLITE_OK);
    char log[128];
    (void)snprintf(log, sizeof log, "%s-wal", place.path);
    struct content file_before = read_file(place.path);
    struct content log_before = read_file(log);
    struct store *store = NULL;
    assert_int_equal(open_store(place.path, &store, "later version"), STORE_ERR_FOREIGN);
    struct content file_after = read_file(place.path);
    struct content log_after = read_file(log);
    assert_int_equal(file_before.length, file_after.length);
    assert_memory_equal(file_before.bytes, file_after.bytes, file_before.length);
    assert_int_equal(log_before.length, log_after.length);
    assert_memory_equal(log_before.bytes, log_after.bytes, log_before.length);
    free(file_before.bytes);
    free(file_after.bytes);
    free(log_before.bytes);
    free(log_after.bytes);
    folder_remove(place.folder);
}

static void test_a_damaged_file_is_told_in_a_sentence(void **state)
{
    (void)state;
    struct place place;
    place_make(&place);
    make_ours(place.path);
    struct content whole = read_file(place.path);
    struct store *store = NULL;

    write_file(place.path, whole.bytes, whole.length / 2); /* cut off */
    assert_int_equal(open_store(place.path, &store, "malformed"), STORE_ERR_BROKEN);
    unsigned char *spoilt = malloc(whole.length);
    assert_non_null(spoilt);
    memcpy(spoilt, whole.bytes, whole.length);
    memset(spoilt + 100, 0xa5, whole.length - 100); /* all but the header */
    write_file(place.path, spoilt, whole.length);
    assert_int_equal(open_store(place.path, &store, "the file cannot be used"), STORE_ERR_BROKEN);
    write_file(place.path, whole.bytes, whole.length);
    execute(place.path, "DROP TABLE leased"); /* ours by name alone */
    assert_int_equal(open_store(place.path, &store, "the file cannot be used"), STORE_ERR_BROKEN);
    write_file(place.path, whole.bytes, whole.length);
    assert_int_equal(open_store(place.path, &store, ""), LULL_OK);
    store_close(store);
    free(spoilt);
    free(whole.bytes);
    folder_remove(place.folder);
}

static void test_what_is_no_file_or_has_no_folder(void **state)
{
    (void)state;
    struct place place;
    struct store *store = NULL;
    place_make(&place);
    assert_int_equal(open_store(place.folder, &store, "not a file"), STORE_ERR_BROKEN);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/nowhere/lull.db", place.folder);
    assert_int_equal(open_store(path, &store, "No such file"), STORE_ERR_BROKEN);
    assert_int_equal(mkfifo(place.path, 0600), 0);
    assert_int_equal(open_store(place.path, &store, "not a file"), STORE_ERR_BROKEN);
    assert_int_equal(store_sqlite_open(&store, place.path, NULL), STORE_ERR_BROKEN);
    assert_null(store);
    (void)unlink(place.path);
    write_file(place.path, "", 0); /* an empty one is as good as none */
    assert_int_equal(open_store(place.path, &store, ""), LULL_OK);
    store_close(store);
    folder_remove(place.folder);
}

static void test_nobody_else_may_read_it(void **state)
{
    (void)state;
    struct place place;
    place_make(&place);
    struct store *store = NULL;
    mode_t before = umask(0);
    assert_int_equal(open_store(place.path, &store, ""), LULL_OK);
    (void)umask(before);
    static const char *const endings[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[128];
        struct stat status;
        (void)snprintf(path, sizeof path, "%s%s", place.path, endings[i]);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    store_close(store);
    folder_remove(place.folder);
}

/* Another process, and in this one too; but who only reads may. */
static void test_one_at_a_time(void **state)
{
    (void)state;
    struct place place;
    place_make(&place);
    struct store *store = NULL;
    struct store *second = NULL;
    uint32_t number = 0;
    assert_int_equal(open_store(place.path, &store, ""), LULL_OK);
    assert_int_equal(store_service(store, "fcm", 3, &number), LULL_OK);
    assert_int_equal(open_store(place.path, &second, "another process"), STORE_ERR_BUSY);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(store_sqlite_open(&second, place.path, NULL) == STORE_ERR_BUSY ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    execute(place.path, "SELECT name FROM services");
    store_close(store);
    assert_int_equal(open_store(place.path, &store, ""), LULL_OK);
    store_close(store);
    folder_remove(place.folder);
}

/* ---- a full disk ---- */

#define FULL_BATCH 16

static int put_some(struct world *world, struct store_put puts[FULL_BATCH])
{
    for (int i = 0; i < FULL_BATCH; i++) {
        struct message *message = message_new(100, 4000, 0);
        assert_non_null(message);
        memset((void *)message->envelope.data, 'e', 100);
        memset((void *)message->body.data, 'b', 4000);
        message->service = world->service;
        message->target = (uint64_t)i;
        message->due_ms = world->now_ms;
        puts[i] = (struct store_put){.message = message, .is_lease_wanted = i % 2 == 0, .lease = 1};
    }
    struct store_batch batch = {.puts = puts, .put_count = FULL_BATCH, .is_durable = true};
    return store_apply(world->store, &batch, world->now_ms);
}

static void free_puts(const struct store_put puts[FULL_BATCH])
{
    for (int i = 0; i < FULL_BATCH; i++) {
        message_free(puts[i].message);
    }
}

static uint64_t count_listed(struct world *world)
{
    struct message *list[100];
    struct store_filter filter = {.limit = 100, .scan = 100};
    uint64_t all = 0;
    do {
        size_t count = 0;
        assert_int_equal(store_list(world->store, &filter, list, &count, &filter.after), LULL_OK);
        free_messages(list, (uint32_t)count);
        all += count;
    } while (filter.after != 0);
    return all;
}

/* Until the disk is full; then nothing has changed; then there is room, and the same batch works.
 */
static void fill_up(struct world *world, void (*make_room)(void *userdata), void *userdata)
{
    struct store_put puts[FULL_BATCH];
    uint64_t batches = 0;
    int error = LULL_OK;
    while ((error = put_some(world, puts)) == LULL_OK) {
        batches++;
        free_puts(puts);
        assert_true(batches < 100000);
    }
    assert_string_equal(store_problem(world->store), "");
    assert_int_equal(error, STORE_ERR_DISK_FULL);
    assert_true(batches > 2);
    struct store_batch again = {.puts = puts, .put_count = FULL_BATCH, .is_durable = true};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_apply(world->store, &again, world->now_ms), STORE_ERR_DISK_FULL);
        for (int k = 0; k < FULL_BATCH; k++) {
            assert_int_equal(puts[k].message->id, 0);
            assert_int_equal(puts[k].message->place, MESSAGE_WAITING);
        }
        assert_counts(world, batches * FULL_BATCH / 2, batches * FULL_BATCH / 2, 0);
        assert_int_equal(count_listed(world), batches * FULL_BATCH);
    }
    assert_int_equal(store_room(world->store), STORE_ERR_DISK_FULL);
    make_room(userdata);
    assert_int_equal(store_room(world->store), LULL_OK); /* what was given up is taken again */
    assert_int_equal(store_apply(world->store, &again, world->now_ms), LULL_OK);
    batches++;
    free_puts(puts);
    assert_counts(world, batches * FULL_BATCH / 2, batches * FULL_BATCH / 2, 0);
    assert_true(world_reopen(world));
    assert_counts(world, batches * FULL_BATCH / 2, batches * FULL_BATCH / 2, 0);
    assert_int_equal(count_listed(world), batches * FULL_BATCH);
}

static void delete_file(void *userdata)
{
    assert_int_equal(unlink(userdata), 0);
}

static void open_in_folder(struct world *world)
{
    *world = (struct world){.backend = BACKEND_SQLITE, .now_ms = NOW_MS};
    folder_make(world->folder, sizeof world->folder);
    (void)snprintf(world->path, sizeof world->path, "%s/lull.db", world->folder);
}

static void test_G6_a_small_disk_runs_full(void **state)
{
    (void)state;
    struct world world;
    open_in_folder(&world);
    if (mount("none", world.folder, "tmpfs", 0, "size=16m") != 0) { /* not root: the next test */
        assert_int_not_equal(geteuid(), 0);
        folder_remove(world.folder);
        return;
    }
    char ballast[96];
    char block[4096] = {0};
    (void)snprintf(ballast, sizeof ballast, "%s/ballast", world.folder);
    FILE *file = fopen(ballast, "wb");
    assert_non_null(file);
    for (int i = 0; i < 2048; i++) {
        assert_int_equal(fwrite(block, sizeof block, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(open_store(world.path, &world.store, ""), LULL_OK);
    assert_int_equal(store_service(world.store, "fcm", 3, &world.service), LULL_OK);
    fill_up(&world, delete_file, ballast);
    store_close(world.store);
    assert_int_equal(umount2(world.folder, MNT_DETACH), 0);
    folder_remove(world.folder);
}

static void lift_limit(void *userdata)
{
    assert_int_equal(setrlimit(RLIMIT_FSIZE, userdata), 0);
}

static void test_G6_a_file_may_grow_no_more(void **state)
{
    (void)state;
    struct world world;
    struct rlimit before;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    world_open(&world, BACKEND_SQLITE);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit low = {.rlim_cur = 2000000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    fill_up(&world, lift_limit, &before);
    (void)signal(SIGXFSZ, handler);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign_files_are_left_alone),
        cmocka_unit_test(test_a_later_version_is_left_alone),
        cmocka_unit_test(test_a_later_version_in_the_log_too),
        cmocka_unit_test(test_a_damaged_file_is_told_in_a_sentence),
        cmocka_unit_test(test_what_is_no_file_or_has_no_folder),
        cmocka_unit_test(test_nobody_else_may_read_it),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_G6_a_small_disk_runs_full),
        cmocka_unit_test(test_G6_a_file_may_grow_no_more),
    };
    return cmocka_run_group_tests_name("store files", tests, NULL, NULL);
}

/* main - finds the subcommand. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "lull/version.h"

static const struct cli_command *const commands[] = {
    &cli_explain, &cli_fetch, &cli_keys,  &cli_messages, &cli_mock,
    &cli_push,    &cli_send,  &cli_serve, &cli_status,
};
static const size_t command_count = sizeof commands / sizeof commands[0];

static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(name, commands[i]->name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_help(FILE *out)
{
    fputs("Usage: lull COMMAND [OPTIONS]\n"
          "\n"
          "Lull delivers HTTP messages so that they arrive, and so that a service in trouble\n"
          "never meets a retry storm.\n"
          "\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("  help       show the help of a command\n"
          "\n"
          "Options:\n"
          "  --help     show this\n"
          "  --version  show the version\n"
          "\n"
          "'lull help COMMAND' tells more, and so do the man pages lull(1) and lull-COMMAND(1).\n",
          out);
}

static int unknown_command(const char *name)
{
    fprintf(stderr, "lull: there is no command '%s'.\nTry 'lull --help'.\n", name);
    return CLI_USAGE;
}

static int run_help(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stdout);
        return CLI_OK;
    }
    const struct cli_command *command = find_command(argv[1]);
    if (!command) {
        return unknown_command(argv[1]);
    }
    fputs(command->help, stdout);
    if (command->print_more) {
        command->print_more(stdout);
    }
    return CLI_OK;
}

/* A full disk or a closed pipe must not look like success. */
static int finish(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("lull: the output could not be written.\n", stderr);
        return code == CLI_OK ? CLI_FAILED : code;
    }
    return code;
}

/* What is opened gets the lowest free number. Were that one of these three, a line for standard
 * error would go into a connection. They are opened the wrong way, so that their use still fails.
 */
static bool fill_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!fill_standard_files()) {
        return CLI_FAILED;
    }
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("lull %s\n", lull_version());
        return finish(CLI_OK);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(stdout);
        return finish(CLI_OK);
    }
    if (strcmp(name, "help") == 0) {
        return finish(run_help(argc - 1, argv + 1));
    }
    const struct cli_command *command = find_command(name);
    return command ? finish(command->run(argc - 1, argv + 1)) : unknown_command(name);
}

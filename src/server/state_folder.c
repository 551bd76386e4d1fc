/* state_folder - see the header. SPDX-License-Identifier: MIT */
#include "state_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *state_folder_file(const char *name)
{
    const char *service = getenv("STATE_DIRECTORY");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int length = -1;
    if (service && *service == '/') { /* a list with : between them: the first */
        length = asprintf(&path, "%.*s/%s", (int)strcspn(service, ":"), service, name);
    } else if (state && *state == '/') { /* a relative one is to be passed over */
        length = asprintf(&path, "%s/lull/%s", state, name);
    } else if (home && *home == '/') {
        length = asprintf(&path, "%s/.local/state/lull/%s", home, name);
    } else {
        length = asprintf(&path, "%s", name);
    }
    return length < 0 ? NULL : path;
}

int state_folder_make(const char *path)
{
    char folder[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof folder) {
        return length == 0 ? ENOENT : ENAMETOOLONG;
    }
    memcpy(folder, path, length + 1);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST) {
            return errno;
        }
        *slash = '/';
    }
    return 0;
}

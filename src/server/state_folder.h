/* state_folder - where the server keeps what must survive a restart. */
#ifndef LULL_SERVER_STATE_FOLDER_H
#define LULL_SERVER_STATE_FOLDER_H

/* A file in $STATE_DIRECTORY (of systemd), $XDG_STATE_HOME/lull or ~/.local/state/lull, for free().
 * If none of them is known: in the working folder. NULL: no memory. */
char *state_folder_file(const char *name);

/* Makes all folders above the file that are not there yet, for us alone (0700). 0 or an errno. */
int state_folder_make(const char *path);

#endif

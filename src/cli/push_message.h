/* push_message - the JSON of one message, as POST /v1/messages takes it. */
#ifndef LULL_CLI_PUSH_MESSAGE_H
#define LULL_CLI_PUSH_MESSAGE_H

#include "push_options.h"

/* For message_text_free. False: no memory, or a value that is not UTF-8. */
bool push_message_write(const struct push_options *options, struct message_text *ret_text);

#endif

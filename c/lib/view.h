/* What a client gets of a stored line: only the tags that it said it knows. Pure. */
#ifndef VIEW_H
#define VIEW_H

#include "slice.h"

/* Capabilities of a client, a bit each. */
enum {
	CAP_MESSAGE_TAGS = 1,
	CAP_SERVER_TIME = 2,
	CAP_ECHO_MESSAGE = 4,
	CAP_SASL = 8,
	CAP_BATCH = 16,
	CAP_CHATHISTORY = 32,
	CAP_ACCOUNT_TAG = 64,
};

/* bytes of an extra tag: with '@' and ';' it stands where the sum stood */
enum { VIEW_EXTRA_MAX = 17 };

/*
 * Writes line (tags from "time=" on to before the space; plain from ':' on, line end included) for a client with
 * caps, after the extra tag where one is given. to may be up to VIEW_EXTRA_MAX + 2 bytes before tags.at. Bytes
 * written: 0 when the client is to get nothing of it.
 */
size_t view_write(char *to, struct slice tags, struct slice plain, unsigned caps, const char *extra);

#endif

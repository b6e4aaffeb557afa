/* How a stored line is sent to a client: with those of its tags that the client asked for.
 * Pure: no input or output. */
#ifndef VIEW_H
#define VIEW_H

#include "slice.h"

#include <stdint.h>

/* The capabilities of a client (IRCv3), a bit each. */
enum {
	CAP_MESSAGE_TAGS = 1,
	CAP_SERVER_TIME = 2,
	CAP_ECHO_MESSAGE = 4,
	CAP_SASL = 8,
	CAP_BATCH = 16,
	CAP_CHATHISTORY = 32,
	CAP_ACCOUNT_TAG = 64,
};

enum {
	/* bytes of an extra tag: with its '@' and ';' it fits into the place of the checksum's tag */
	VIEW_EXTRA_MAX = 17,
	/* bytes of a stamp: fewer than those of the time tag, in whose place it is sent */
	VIEW_STAMP_MAX = 22,
};

/*
 * Writes a line for a client with these capabilities and returns the bytes written, 0 if the client
 * cannot be sent the line.
 *
 * tags are those from "time=" on, without the space after them. plain is the line from ':' on, its
 * CR and LF included. extra is a tag that is written first, NULL for none. stamp is inserted before
 * the text of a PRIVMSG or NOTICE, NULL for none: see view_stamp.
 *
 * The line may be written over its stored form: to may be up to VIEW_EXTRA_MAX + 2 bytes before
 * tags.at. A stamp is then allowed only for a client without CAP_SERVER_TIME.
 */
size_t view_write(char *to, struct slice tags, struct slice plain, unsigned caps, const char *extra, const char *stamp);

/* Writes the stamp of an old message of this time for a client without server-time, and a NUL:
 * "[14:05:12] ", or "[2006-01-02 14:05:12] " if the message is not of the day of now_ms. Both times
 * are milliseconds since 1970, UTC. */
void view_stamp(char to[VIEW_STAMP_MAX + 1], uint64_t ms, uint64_t now_ms);

#endif

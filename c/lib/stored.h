/*
 * A line as a log holds it (docs/protocol.md, "Stored lines"):
 *
 *	@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.123Z;msgid=ID-OFFSET[;TAGS] :SOURCE COMMAND TARGET[ PARAMS][ :TEXT]\r\n
 *
 * Pure: bytes in, bytes out.
 */
#ifndef STORED_H
#define STORED_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STORED_MAX = 16384, /* bytes of a line, CR and LF included */
	STORED_SUM = 19,    /* bytes of "@weir/sum=SSSSSSSS;", after which "time=" stands */
	STORED_ID = 8,      /* bytes of a room's id, of a-z and 2-7 */
	/* bytes of source, tags and text at least, so that a line can be redacted in place */
	STORED_SPARE = 16,
};

struct entry {
	struct slice tags; /* further tags, escaped; empty, or such as "account=alice;+draft/reply=x" */
	struct slice body; /* ":nick!user@host PRIVMSG #room :text", no CR, no LF */
};

/* Writes the line that begins at offset of the room's log to to; its length, 0 when it is longer
 * than room or STORED_MAX. */
size_t stored_write(char *to, size_t room, const char *id, uint64_t offset, uint64_t ms, const struct entry *e);

/* Whether line, its CR and LF included, is one that was written whole to offset: form, checksum,
 * msgid. */
bool stored_whole(struct slice line, uint64_t offset);

/* Whether line at least looks like one, so that its parts can be taken, whatever they hold. */
bool stored_formed(struct slice line);

/* These take lines that are formed, and give parts of them. */
struct slice stored_tags(struct slice line);  /* from "time=" on to before the space */
struct slice stored_plain(struct slice line); /* from ':' on, CR and LF included */
struct slice stored_id(struct slice line);    /* the room's */
bool stored_tag(struct slice line, const char *name, struct slice *value);
bool stored_time(struct slice line, uint64_t *ms);

#endif

/*
 * A line as stored in a log (docs/protocol.md, "A line"):
 *
 *	@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.123Z;msgid=ID-OFFSET[;TAGS]
 *	 :SOURCE COMMAND TARGET[ PARAMS][ :TEXT]\r\n
 *
 * Pure.
 */
#ifndef STORED_H
#define STORED_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STORED_MAX = 16384, /* bytes of a line, CR and LF included */
	STORED_SUM = 19,    /* bytes of "@weir/sum=SSSSSSSS;", before "time=" */
	STORED_ID = 8,      /* bytes of a room's id, of a-z and 2-7 */
	/* least number of bytes of source, tags and text together, so that a line can be redacted in
	 * place */
	STORED_SPARE = 16,
};

struct entry {
	struct slice tags; /* further tags, escaped; empty, or such as "account=alice;+draft/reply=x" */
	struct slice body; /* ":nick!user@host PRIVMSG #room :text", without CR and LF */
};

/* Writes the line of e for an offset of the room's log. Returns its length, 0 if it exceeds room or
 * STORED_MAX. */
size_t stored_write(char *to, size_t capacity, const char *id, uint64_t offset, uint64_t ms, const struct entry *e);

/* Reports whether line, CR and LF included, is valid at offset: form, checksum, msgid. */
bool stored_whole(struct slice line, uint64_t offset);

/* Reports whether line has the form of a stored line, so that its parts can be taken. It does not
 * check the checksum. */
bool stored_formed(struct slice line);

/* Parts of a line for which stored_formed is true. */
struct slice stored_tags(struct slice line);  /* from "time=" on, without the space after them */
struct slice stored_plain(struct slice line); /* from ':' on, CR and LF included */
struct slice stored_id(struct slice line);    /* id of the room */
bool stored_tag(struct slice line, const char *name, struct slice *value);
bool stored_time(struct slice line, uint64_t *ms);

#endif

/* Read marks: how far a device of an account has been sent a room (docs/protocol.md, "Read marks"). */
#ifndef MARKS_H
#define MARKS_H

#include "slice.h"
#include "stored.h"
#include "table.h"

#include <stdbool.h>
#include <stdint.h>

/* The mark of an account's device ("" for the one without a name) in the room with this id; false
 * when it has none. */
bool mark_read(int data, struct slice account, struct slice device, const char *id, uint64_t *offset);

struct mark {
	unsigned room; /* number in the table */
	char id[STORED_ID + 1];
	uint64_t offset;
};

/* How far the rooms that a session is in were sent to it, at most MY_FEEDS_MAX. Under names. */
unsigned marks_collect(const struct table *t, unsigned number, struct mark *marks);

/* Moves the marks of a device forward, never back; those at 0 say nothing. One that is lost only
 * repeats messages. */
bool marks_write(int data, struct slice account, struct slice device, const struct mark *marks, unsigned count);

#endif

/* Read markers: how far a device of an account has read a room (docs/protocol.md, "Read marks"). */
#ifndef MARKS_H
#define MARKS_H

#include "slice.h"
#include "stored.h"
#include "table.h"

#include <stdbool.h>
#include <stdint.h>

/* Gets the read marker of an account's device ("" for the one without a name) in the room with this
 * id. Returns false if there is none. */
bool mark_read(int data, struct slice account, struct slice device, const char *id, uint64_t *offset);

struct mark {
	unsigned room; /* number in the table */
	char id[STORED_ID + 1];
	uint64_t offset;
};

/* Collects how far a session's client has acknowledged each of its rooms, at most MY_FEEDS_MAX. The
 * caller holds names. */
unsigned marks_collect(const struct table *t, unsigned number, struct mark *marks);

/* Moves the markers of a device forward, never back, and ignores those at 0. A lost marker only
 * repeats messages. */
bool marks_write(int data, struct slice account, struct slice device, const struct mark *marks, unsigned count);

#endif

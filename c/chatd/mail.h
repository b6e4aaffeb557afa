/*
 * The mail of a SEND process: a ring in shared memory with items from its own RECV process and
 * those of other clients, in order. Messages of rooms are not in the mail: SEND reads them from the
 * logs.
 *
 * Any process may write, one at a time, under the ring's lock. If a writer dies while writing,
 * nothing was written. Only SEND reads, without a lock.
 */
#ifndef MAIL_H
#define MAIL_H

#include "lock.h"
#include "slice.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	MAIL_BYTES = 16384,      /* size of a ring: a power of two */
	MAIL_TEXT_MAX = 6144,    /* length limit of one item's text, in bytes */
	/* limit for other processes; the rest is for the client's own RECV */
	MAIL_OTHERS = MAIL_BYTES * 3 / 4,
};

enum mail_type {
	MAIL_SKIP,   /* padding: the next item is at the start of the ring */
	MAIL_TEXT,   /* lines for the client, unchanged: RECV's replies */
	/* one line in the form of a stored one without a checksum; tags that the client lacks are
	 * dropped */
	MAIL_LINE,
	MAIL_MARK,   /* only the condition below */
	MAIL_FOLLOW, /* follow the room's log from end on; the text is its folder */
	MAIL_LEAVE,  /* stop following it */
	MAIL_OWN,    /* the client's own lines [first, end), which are not sent back to it */
	/* replay of the newest count lines in [first, end) of a log; for the text see send.c */
	MAIL_REPLAY,
	MAIL_CLOSE,  /* from RECV: the text is the last line; then the connection is closed */
	MAIL_END,    /* from another process: RECV does not know of it */
};

enum { MAIL_NO_ROOM = 0xFFFF };

struct mail_item {
	uint16_t type, room;
	uint32_t length; /* length of the text that follows */
	uint32_t count;
	uint32_t unused;
	/* In TEXT, LINE and MARK of a room: SEND first sends its log up to end, and no further. */
	uint64_t first, end;
};

struct mail {
	struct lock lock;
	sem_t emptied; /* posted by SEND when a process waits for room */
	_Atomic unsigned waiting;
	_Atomic uint64_t head, tail; /* bytes ever written, and ever read */
	char ring[MAIL_BYTES];
};

/* Empties the ring for a new client: after both processes of the last client have ended, before
 * those of the new one are forked. */
void mail_init(struct mail *m);

/* Writes an item, unless more than limit bytes of the ring would be in use. Returns whether it
 * did. */
bool mail_write(struct mail *m, const struct mail_item *item, struct slice text, uint64_t limit);

/* Reports whether an item with so much text fits within limit. */
bool mail_has_room(const struct mail *m, size_t length, uint64_t limit);

/* Return the bytes ever written and ever read. */
uint64_t mail_written(const struct mail *m);
uint64_t mail_read(const struct mail *m);

/* Waits until SEND has read more than so many bytes, or posts emptied for another reason; at most a
 * second. */
void mail_wait(struct mail *m, uint64_t read);

/* Returns the oldest item and its text, which are valid until mail_done; NULL if there is none. */
const struct mail_item *mail_next(struct mail *m, struct slice *text);
void mail_done(struct mail *m);

#endif

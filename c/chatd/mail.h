/*
 * What the SEND process of a client is told, in order, by its RECV process and by those of other clients: a ring
 * in shared memory. Messages of rooms do not pass here: SEND reads them from the rooms' logs.
 *
 * Any process may write, one at a time, under the ring's lock; a writer that dies in the middle has written
 * nothing. SEND alone reads, without a lock.
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
	MAIL_BYTES = 16384,      /* of a ring: a power of two */
	MAIL_TEXT_MAX = 6144,    /* bytes of one item's text */
	/* what others may fill; the rest is for the client's own RECV */
	MAIL_OTHERS = MAIL_BYTES * 3 / 4,
};

enum mail_type {
	MAIL_SKIP,   /* nothing: the ring begins again at its front */
	MAIL_TEXT,   /* lines for the client, as they are; RECV's answers */
	/* one line in the form of a stored one, without a sum: what the client does not know is left
	 * out */
	MAIL_LINE,
	MAIL_MARK,   /* nothing but the condition below */
	MAIL_FOLLOW, /* the room's log is to be sent from end on; the text is its folder */
	MAIL_LEAVE,  /* and from now on no more */
	MAIL_OWN,    /* the client's own lines [first, end): not sent back to it */
	/* old lines: [first, end) of a log, the newest count of them; the text says which, see send.c */
	MAIL_REPLAY,
	MAIL_CLOSE,  /* from RECV: the text is the last line; then the connection ends */
	MAIL_END,    /* the same from somebody else: RECV does not know of it */
};

enum { MAIL_NO_ROOM = 0xFFFF };

struct mail_item {
	uint16_t type, room;
	uint32_t length; /* of the text that follows */
	uint32_t count;
	uint32_t unused;
	/* For TEXT, LINE and MARK of a room: its log is sent up to end first, and no further. */
	uint64_t first, end;
};

struct mail {
	struct lock lock;
	sem_t emptied; /* posted by SEND when somebody waits for room */
	_Atomic unsigned waiting;
	_Atomic uint64_t head, tail; /* bytes ever written, and read */
	char ring[MAIL_BYTES];
};

/* Makes it empty, for a new client: while no process of the last one is left, before those of the
 * new one are forked. */
void mail_init(struct mail *m);

/* Writes an item within limit bytes of the ring; false, and nothing, when there is no room. */
bool mail_write(struct mail *m, const struct mail_item *item, struct slice text, uint64_t limit);

/* Whether an item with so much text would find room within limit. */
bool mail_has_room(const struct mail *m, size_t length, uint64_t limit);

/* How many bytes were ever written to it, and read. */
uint64_t mail_written(const struct mail *m);
uint64_t mail_read(const struct mail *m);

/* Waits until SEND has read more than so much, or posts emptied for another reason; a second at
 * most. */
void mail_wait(struct mail *m, uint64_t read);

/* The oldest item that was not taken yet, and its text, which stay until mail_done; NULL when there
 * is none. */
const struct mail_item *mail_next(struct mail *m, struct slice *text);
void mail_done(struct mail *m);

#endif

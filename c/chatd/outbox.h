/* What SEND is about to write to its client: bytes are gathered and go out with one write. */
#ifndef OUTBOX_H
#define OUTBOX_H

#include "slice.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	OUTBOX_BYTES = 65536,
	OUTBOX_PATIENCE_MS = 60000, /* for a client that takes nothing */
	OUTBOX_LAST_MS = 500,       /* the same when the server is stopping */
};

struct outbox {
	int fd;
	bool failed;  /* the client is gone, or took nothing for too long: nothing more is written */
	volatile sig_atomic_t hurry; /* the server is stopping; set by a signal */
	size_t length;
	char bytes[OUTBOX_BYTES];
};

void outbox_add(struct outbox *o, struct slice bytes);

/* Room for n bytes at its end, n at most OUTBOX_BYTES: what is there goes out first when there is
 * none. The caller adds to length. */
char *outbox_room(struct outbox *o, size_t n);

void outbox_flush(struct outbox *o);

#endif

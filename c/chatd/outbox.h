/* The output of SEND: bytes are collected and sent with one write. */
#ifndef OUTBOX_H
#define OUTBOX_H

#include "slice.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OUTBOX_BYTES = 65536,
	OUTBOX_TIMEOUT_MS = 60000, /* time limit for a client that reads nothing */
	OUTBOX_LAST_MS = 500,       /* the same while the server is stopping */
};

struct outbox {
	int fd;
	/* the client has disconnected or read nothing for too long: nothing more is sent */
	bool failed;
	volatile sig_atomic_t hurry; /* the server is stopping; set by a signal handler */
	uint64_t written; /* bytes of all flushes so far */
	size_t length;
	char bytes[OUTBOX_BYTES];
};

void outbox_add(struct outbox *o, struct slice bytes);

/* Returns room for n bytes at the end, n at most OUTBOX_BYTES. It sends the content first if there
 * is no room. The caller adds to length. */
char *outbox_room(struct outbox *o, size_t n);

void outbox_flush(struct outbox *o);

#endif

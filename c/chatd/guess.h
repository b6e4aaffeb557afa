/*
 * Logins that failed, as docs/protocol.md bounds them: so many at once, then one each GUESS_EVERY_MS. First by network, which no client of this
 * machine has; then by name, for all networks together from which nobody has logged in as it. Such a network is bounded by itself, so that
 * strangers keep no owner out. All of it lies in the table, under names, and is lost with the server.
 */
#ifndef GUESS_H
#define GUESS_H

#include "names.h"
#include "net.h"

#include <stdint.h>

enum { GUESS_EVERY_MS = 6000, GUESS_NETWORK = 20, GUESS_NAME = 50, GUESSES_MAX = 1024, KNOWN_MAX = 1024, KNOWN_EACH = 16 };

struct guess {
	char key[NICK_MAX + NET_HOST_MAX + 3]; /* "@NETWORK", "NAME" or "NAME @NETWORK" */
	uint64_t until;                        /* when all of them are forgotten; 0: the place is free */
};

/* A network that an account was logged in to from. */
struct known {
	char account[NICK_MAX + 1], network[NET_HOST_MAX + 1];
	uint64_t at; /* 0: the place is free */
};

struct guesses {
	struct guess all[GUESSES_MAX];
	struct known known[KNOWN_MAX];
};

/* A login: the folded name, "" where it is none, and the network, "" for a client of this machine. */
struct login {
	char name[NICK_MAX + 1];
	char network[NET_HOST_MAX + 1];
};

/* How many seconds a login has to wait; 0: it may be tried. Times are milliseconds of a clock that only goes on. */
unsigned guess_wait(const struct guesses *g, const struct login *l, uint64_t now);

/* Counts a login that failed; remembers where one that did not came from. */
void guess_failed(struct guesses *g, const struct login *l, uint64_t now);
void guess_right(struct guesses *g, const struct login *l, uint64_t now);

#endif

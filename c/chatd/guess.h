/*
 * Logins that failed, as docs/protocol.md limits them: so many at once, then one each GUESS_EVERY_MS.
 * A network from which the account was logged in to has a limit of its own for it. Others count for
 * their network, which no client of this machine has, and for the name: networks that have not failed
 * for it within GUESS_FIRST_MS for one limit, the rest for another. All of it lies in the table, under
 * names. The known networks are in the file "networks" too, as the Go server writes it; the guesses
 * are lost with the server.
 */
#ifndef GUESS_H
#define GUESS_H

#include "names.h"
#include "net.h"

#include <stdbool.h>
#include <stdint.h>

enum { GUESS_EVERY_MS = 6000, GUESS_NETWORK = 20, GUESS_NAME = 50, GUESS_FIRST_MS = 3600000, GUESSES_MAX = 1024, KNOWN_MAX = 1024, KNOWN_EACH = 16, GUESS_KEY = NICK_MAX + NET_HOST_MAX + 2 };

struct guess {
	char key[GUESS_KEY + 1]; /* "@NETWORK", "NAME", "NAME first" or "NAME @NETWORK" */
	/* when all of them are forgotten; 0: the place is free */
	uint64_t until;
};

/* A network that an account was logged in to from. */
struct known {
	char account[NICK_MAX + 1], network[NET_HOST_MAX + 1];
	uint64_t at; /* 0: the place is free */
};

struct guesses {
	struct guess all[GUESSES_MAX];
	/* networks that failed for a name, until they count as first again */
	struct guess pairs[GUESSES_MAX];
	struct known known[KNOWN_MAX];
	unsigned changes; /* counts the networks that became known */
};

/* A login: the folded name, "" where it is none, and the network, "" for a client of this machine. */
struct login {
	char name[NICK_MAX + 1];
	char network[NET_HOST_MAX + 1];
};

/* How many seconds a login has to wait; 0: it may be tried. Times are milliseconds of a clock that
 * only goes on. */
unsigned guess_wait(const struct guesses *g, const struct login *l, uint64_t now);

/* Counts a login that failed; remembers where one that did not came from. */
void guess_failed(struct guesses *g, const struct login *l, uint64_t now);
void guess_right(struct guesses *g, const struct login *l, uint64_t now);

/*
 * Read the known networks from the file, and replace it, durably. Reading passes over lines that it
 * does not understand.
 */
void known_read(struct guesses *g, int data);
bool known_write(const struct guesses *g, int data);

#endif

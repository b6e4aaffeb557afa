/*
 * Throttling of failed logins (docs/protocol.md, "Limits"): a burst, then one each GUESS_EVERY_MS.
 * A network from which the account has logged in before has a limit of its own for that account.
 * Other logins count for their network (loopback has none) and for the name. Networks that have not
 * failed for the name within GUESS_FIRST_MS share one limit, the others another. Everything is in
 * the table, under names. The known networks are also in the file "networks", in the format of the
 * server in Go. The failures are lost at a restart.
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
	/* when all failures have expired, in milliseconds; 0: the entry is free */
	uint64_t until;
};

/* A network from which an account has logged in. */
struct known {
	char account[NICK_MAX + 1], network[NET_HOST_MAX + 1];
	uint64_t at; /* 0: the entry is free */
};

struct guesses {
	struct guess all[GUESSES_MAX];
	/* networks that failed for a name, until they count as first again */
	struct guess pairs[GUESSES_MAX];
	struct known known[KNOWN_MAX];
	unsigned changes; /* counts additions to known */
};

/* A login attempt: the folded name, "" if invalid, and the network, "" for loopback. */
struct login {
	char name[NICK_MAX + 1];
	char network[NET_HOST_MAX + 1];
};

/* Returns how many seconds a login must wait; 0: none. Times are milliseconds of a monotonic
 * clock. */
unsigned guess_wait(const struct guesses *g, const struct login *l, uint64_t now);

/* guess_failed counts a failed login; guess_right stores the network of a successful one. */
void guess_failed(struct guesses *g, const struct login *l, uint64_t now);
void guess_right(struct guesses *g, const struct login *l, uint64_t now);

/*
 * known_read reads the known networks from the file and ignores invalid lines. known_write replaces
 * the file durably.
 */
void known_read(struct guesses *g, int data);
bool known_write(const struct guesses *g, int data);

#endif

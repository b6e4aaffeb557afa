#include "guess.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool
is_known(const struct guesses *g, const struct login *l)
{
	for (int i = 0; i < KNOWN_MAX; i++)
		if (g->known[i].at != 0 && strcmp(g->known[i].account, l->name) == 0 && strcmp(g->known[i].network, l->network) == 0)
			return true;
	return false;
}

/* One of the limits that a login attempt counts for. */
struct limit {
	char key[GUESS_KEY + 1];
	uint64_t most; /* size of the burst */
};

enum { LIMITS_MAX = 2 };

/* Makes the key under which a network's failures for a name are stored. */
static void
pair_of(const struct login *l, char key[GUESS_KEY + 1])
{
	char customer[NET_HOST_MAX + 1];

	net_customer(l->network, customer);
	snprintf(key, GUESS_KEY + 1, "%s @%s", l->name, customer);
}

static uint64_t
until_of(const struct guess all[GUESSES_MAX], const char *key)
{
	for (int i = 0; i < GUESSES_MAX; i++)
		if (all[i].until != 0 && strcmp(all[i].key, key) == 0)
			return all[i].until;
	return 0;
}

/* Reports whether the network of a login has not failed for the name lately. */
static bool
is_first(const struct guesses *g, const struct login *l, uint64_t now)
{
	char key[GUESS_KEY + 1];

	if (l->network[0] == '\0')
		return false;
	pair_of(l, key);
	return until_of(g->pairs, key) <= now;
}

static unsigned
limits_of(const struct guesses *g, const struct login *l, uint64_t now, struct limit to[LIMITS_MAX])
{
	unsigned n = 0;

	if (l->name[0] != '\0' && is_known(g, l)) {
		snprintf(to[0].key, sizeof to[0].key, "%s @%s", l->name, l->network);
		to[0].most = GUESS_NAME;
		return 1;
	}
	if (l->network[0] != '\0') {
		snprintf(to[n].key, sizeof to[n].key, "@%s", l->network);
		to[n++].most = GUESS_NETWORK;
	}
	if (l->name[0] != '\0') {
		snprintf(to[n].key, sizeof to[n].key, is_first(g, l, now) ? "%s first" : "%s", l->name);
		to[n++].most = GUESS_NAME;
	}
	return n;
}

unsigned
guess_wait(const struct guesses *g, const struct login *l, uint64_t now)
{
	struct limit limits[LIMITS_MAX];
	unsigned n = limits_of(g, l, now, limits);
	uint64_t longest = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t from = now + (limits[i].most - 1) * GUESS_EVERY_MS, until = until_of(g->all, limits[i].key);

		if (until > from && until - from > longest)
			longest = until - from;
	}
	return (unsigned)((longest + 999) / 1000);
}

/* Returns the entry of a key, or a free one, or the one that expires first. */
static struct guess *
place_of(struct guess all[GUESSES_MAX], const char *key, uint64_t now)
{
	struct guess *at = &all[0];

	for (int i = 0; i < GUESSES_MAX; i++) {
		if (all[i].until != 0 && strcmp(all[i].key, key) == 0) {
			at = &all[i];
			break;
		}
		if (all[i].until < at->until)
			at = &all[i];
	}
	if (strcmp(at->key, key) != 0 || at->until < now)
		at->until = now;
	snprintf(at->key, sizeof at->key, "%s", key);
	return at;
}

void
guess_failed(struct guesses *g, const struct login *l, uint64_t now)
{
	struct limit limits[LIMITS_MAX];
	unsigned n = limits_of(g, l, now, limits);
	char pair[GUESS_KEY + 1];

	for (unsigned i = 0; i < n; i++) {
		struct guess *at = place_of(g->all, limits[i].key, now);

		/* the limit ends soon after the attempts stop */
		if (at->until < now + (uint64_t)GUESS_NAME * GUESS_EVERY_MS)
			at->until += GUESS_EVERY_MS;
	}
	if (l->name[0] != '\0' && l->network[0] != '\0') {
		pair_of(l, pair);
		place_of(g->pairs, pair, now)->until = now + GUESS_FIRST_MS;
	}
}

/* Stores the network of a successful login. If the account has its share of entries, its oldest one
 * is replaced, otherwise the oldest of all. */
void
guess_right(struct guesses *g, const struct login *l, uint64_t now)
{
	struct known *oldest = &g->known[0], *own = NULL;
	int count_own = 0;

	for (int i = 0; i < KNOWN_MAX; i++) {
		struct known *k = &g->known[i];
		bool of_account = k->at != 0 && strcmp(k->account, l->name) == 0;

		if (of_account && strcmp(k->network, l->network) == 0) {
			k->at = now + 1;
			return;
		}
		count_own += of_account;
		if (of_account && (own == NULL || k->at < own->at))
			own = k;
		if (k->at < oldest->at)
			oldest = k;
	}
	if (count_own >= KNOWN_EACH)
		oldest = own;
	snprintf(oldest->account, sizeof oldest->account, "%s", l->name);
	snprintf(oldest->network, sizeof oldest->network, "%s", l->network);
	oldest->at = now + 1;
	g->changes++;
}

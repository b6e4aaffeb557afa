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

/* What a login is counted under besides its network. */
static void
key_of(const struct guesses *g, const struct login *l, char key[sizeof g->all[0].key])
{
	snprintf(key, sizeof g->all[0].key, is_known(g, l) ? "%s @%s" : "%s", l->name, l->network);
}

static void
network_of(const struct login *l, char key[sizeof ((struct guess *)0)->key])
{
	snprintf(key, sizeof ((struct guess *)0)->key, "@%s", l->network);
}

static uint64_t
wait_for(const struct guesses *g, const char *key, uint64_t most, uint64_t now)
{
	for (int i = 0; i < GUESSES_MAX; i++) {
		uint64_t from = now + (most - 1) * GUESS_EVERY_MS;

		if (g->all[i].until > from && strcmp(g->all[i].key, key) == 0)
			return g->all[i].until - from;
	}
	return 0;
}

unsigned
guess_wait(const struct guesses *g, const struct login *l, uint64_t now)
{
	char key[sizeof g->all[0].key];
	uint64_t by_network = 0, by_name = 0;

	if (l->network[0] != '\0') {
		network_of(l, key);
		by_network = wait_for(g, key, GUESS_NETWORK, now);
	}
	if (l->name[0] != '\0') {
		key_of(g, l, key);
		by_name = wait_for(g, key, GUESS_NAME, now);
	}
	return (unsigned)(((by_network > by_name ? by_network : by_name) + 999) / 1000);
}

/* When there is no place left, the one that is forgotten soonest is. */
static void
count(struct guesses *g, const char *key, uint64_t now)
{
	struct guess *at = &g->all[0];

	for (int i = 0; i < GUESSES_MAX; i++) {
		struct guess *each = &g->all[i];

		if (each->until != 0 && strcmp(each->key, key) == 0) {
			at = each;
			break;
		}
		if (each->until < at->until)
			at = each;
	}
	if (strcmp(at->key, key) != 0 || at->until < now)
		at->until = now;
	snprintf(at->key, sizeof at->key, "%s", key);
	if (at->until < now + (uint64_t)GUESS_NAME * GUESS_EVERY_MS) /* it is over soon after they stop */
		at->until += GUESS_EVERY_MS;
}

void
guess_failed(struct guesses *g, const struct login *l, uint64_t now)
{
	char key[sizeof g->all[0].key];

	if (l->network[0] != '\0') {
		network_of(l, key);
		count(g, key, now);
	}
	if (l->name[0] != '\0') {
		key_of(g, l, key);
		count(g, key, now);
	}
}

/* The oldest of the account makes place where it has enough, else the oldest of all. */
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
}

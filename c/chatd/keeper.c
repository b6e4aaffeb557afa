/*
 * KEEPER: one process for the whole server. It runs once a second while there is a client:
 *
 *   - It stores the read markers that have moved, so a killed server replays at most two seconds
 *     twice: SEND checks every second, too, what was acknowledged.
 *   - It stores the known networks of accounts, so that a restart during an attack locks no owner
 *     out.
 *   - It checks whether the files of accounts and bans have changed, and disconnects clients that
 *     are no longer allowed.
 *
 * No other process waits for it.
 */
#include "keeper.h"

#include "account.h"
#include "ban.h"
#include "clock.h"
#include "marks.h"
#include "report.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { EVERY_MS = 1000 };

#define PRIME 0x100000001b3u

/* Identifies a version of a file. */
struct version {
	ino_t inode;
	off_t size;
	struct timespec time;
};

/* A copy of a session's fields. */
struct person {
	char account[NICK_MAX + 1], device[DEVICE_MAX + 1], address[HOST_MAX + 1], source[SOURCE_MAX + 1];
	struct mark marks[MY_FEEDS_MAX];
	unsigned count;
};

/* hash of the markers that were stored last, for each session; uses memory only as far as it is
 * written */
static uint64_t saved[SESSIONS_MAX];

static bool
changed(int data, const char *name, struct version *last)
{
	struct version now = { .size = -1 };
	struct stat s;
	bool same;

	if (fstatat(data, name, &s, 0) == 0)
		now = (struct version){ s.st_ino, s.st_size, s.st_mtim };
	same = now.inode == last->inode && now.size == last->size && now.time.tv_sec == last->time.tv_sec && now.time.tv_nsec == last->time.tv_nsec;
	*last = now;
	return !same;
}

static bool
look_at(struct table *t, unsigned number, struct person *p)
{
	const struct session *s = &t->sessions[number];
	bool there;

	names_take(t);
	there = s->registered && !s->left && s->ended[0] == '\0';
	memcpy(p->account, s->account, sizeof p->account);
	memcpy(p->device, s->device, sizeof p->device);
	memcpy(p->address, s->address, sizeof p->address);
	snprintf(p->source, sizeof p->source, "%s!%s@%s", s->nick, s->user, s->host);
	p->count = there && s->account[0] != '\0' ? marks_collect(t, number, p->marks) : 0;
	names_release(t);
	return there;
}

/* Disconnects a session if it still has the same client: another one may have its number
 * meanwhile. */
static void
end_person(struct table *t, unsigned number, const struct person *p, const char *why)
{
	char text[ENDED_MAX + 32];
	struct session *s = &t->sessions[number];
	int n = snprintf(text, sizeof text, "ERROR :Closing link: %.*s\r\n", ENDED_MAX, why);

	names_take(t);
	if (s->registered && !s->left && strcmp(s->account, p->account) == 0 && strcmp(s->address, p->address) == 0) {
		snprintf(s->ended, sizeof s->ended, "%s", why);
		session_mail(t, number, &(struct mail_item){ .type = MAIL_END, .room = MAIL_NO_ROOM }, (struct slice){ text, (size_t)n });
	}
	names_release(t);
}

/* Disconnects a client that is banned or whose account was removed. */
static void
judge(struct table *t, int data, unsigned number, const struct person *p)
{
	struct ban_client who = { slice_of(p->account), slice_of(p->address), slice_of(p->source) };
	char reason[BAN_REASON_MAX + 1], why[ENDED_MAX + 1];
	struct account a;

	if (ban_find(data, &who, clock_now(), reason)) {
		snprintf(why, sizeof why, "Banned: %s", reason);
		end_person(t, number, p, why);
	} else if (p->account[0] != '\0' && !account_find(data, slice_of(p->account), &a)) {
		end_person(t, number, p, "Your account was removed");
	}
}

static uint64_t
add_text(uint64_t sum, const char *text)
{
	do
		sum = (sum ^ (unsigned char)*text) * PRIME;
	while (*text++ != '\0');
	return sum;
}

/* Returns a hash (FNV-1a) of a set of markers. */
static uint64_t
sum_of(const struct person *p)
{
	uint64_t sum = 0xcbf29ce484222325u;

	sum = add_text(add_text(sum, p->account), p->device);
	for (unsigned i = 0; i < p->count; i++)
		sum = (add_text(sum, p->marks[i].id) ^ p->marks[i].offset) * PRIME;
	return sum;
}

static void
save(int data, unsigned number, const struct person *p)
{
	uint64_t sum = sum_of(p);

	if (p->count > 0 && sum != saved[number] && marks_write(data, slice_of(p->account), slice_of(p->device), p->marks, p->count))
		saved[number] = sum;
}

/* Stores the known networks if there are new ones. It writes a copy, so that no client waits for
 * the disk. */
static void
save_known(struct table *t, int data)
{
	static struct guesses copy;
	static unsigned written;
	bool new_ones;

	names_take(t);
	new_ones = t->guesses.changes != written;
	if (new_ones)
		copy = t->guesses;
	names_release(t);
	if (new_ones && known_write(&copy, data))
		written = copy.changes;
}

static bool
anybody(const struct table *t)
{
	for (unsigned i = 0; i < table_sessions(); i++)
		if (atomic_load((_Atomic bool *)(uintptr_t)&t->sessions[i].live))
			return true;
	return false;
}

void
keeper_run(struct table *t, int data)
{
	struct version accounts = { .size = -2 }, bans = { .size = -2 };
	static struct person p;

	sandbox_keeper();
	for (;;) {
		bool both[] = { changed(data, "accounts", &accounts), changed(data, "bans", &bans) };

		for (unsigned i = 0; i < table_sessions(); i++) {
			if (!atomic_load(&t->sessions[i].live) || !look_at(t, i, &p))
				continue;
			if (both[0] || both[1])
				judge(t, data, i, &p);
			save(data, i, &p);
		}
		(void)poll(NULL, 0, EVERY_MS);
		save_known(t, data);
		while (!anybody(t))
			(void)sem_wait(&t->came);
	}
}

#include "table.h"

#include "buffer.h"
#include "clock.h"
#include "net.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { WORD = 32, LINE_BYTES = 1024 };

static unsigned in_use; /* number of sessions in use */

struct table *
table_make(unsigned sessions)
{
	struct table *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		fatal("cannot map %zu bytes of shared memory: %s", sizeof *t, strerror(errno));
	lock_init(&t->names);
	lock_init(&t->topics);
	sem_init(&t->came, 1, 0);
	for (unsigned i = 0; i < ROOMS_MAX; i++)
		log_shared_init(&t->rooms[i].log);
	for (unsigned i = 0; i < sessions; i++)
		sem_init(&t->sessions[i].wake, 1, 0);
	in_use = sessions;
	return t;
}

unsigned
table_sessions(void)
{
	return in_use;
}

/* Clears all fields but wake and news: another process may just be waking the former client, which
 * does not harm the next one. */
static void
clear(struct session *s)
{
	atomic_store(&s->closing, false);
	atomic_store(&s->slow, false);
	atomic_store(&s->caps, 0);
	s->registered = s->left = false;
	s->nick[0] = s->user[0] = s->host[0] = s->account[0] = s->device[0] = s->ended[0] = '\0';
	atomic_store(&s->ending, GOING_ON);
	atomic_store(&s->asked, false);
}

int
session_claim(struct table *t, const char *address)
{
	for (unsigned i = 0; i < in_use; i++) {
		struct session *s = &t->sessions[i];

		if (atomic_load(&s->live))
			continue;
		names_take(t);
		clear(s);
		snprintf(s->address, sizeof s->address, "%s", address);
		net_network(address, s->network);
		names_release(t);
		mail_init(&t->boxes[i].mail);
		atomic_store(&t->boxes[i].written, 0);
		atomic_store(&s->live, true);
		sem_post(&t->came);
		return (int)i;
	}
	return -1;
}

void
session_free(struct table *t, unsigned number)
{
	session_leave(t, number, slice_of("Connection lost"));
	names_take(t);
	t->sessions[number].registered = false;
	names_release(t);
	atomic_store(&t->sessions[number].live, false);
}

void
names_take(struct table *t)
{
	/* If the last owner died, nothing is inconsistent: see table.h. The parent does the rest of its
	 * work. */
	(void)lock_take(&t->names);
}

void
names_release(struct table *t)
{
	lock_release(&t->names);
}

void
session_wake(struct session *s)
{
	if (atomic_exchange(&s->news, 1) == 0)
		sem_post(&s->wake);
}

void
session_wake_again(struct session *s)
{
	atomic_store(&s->news, 1);
	sem_post(&s->wake);
}

void
session_sleep(struct session *s, unsigned ms)
{
	struct timespec end = { 0 };

	if (ms > 0) {
		uint64_t until = clock_now() + ms + 1; /* the clock counts whole milliseconds */

		end = (struct timespec){ .tv_sec = (time_t)(until / 1000), .tv_nsec = (long)(until % 1000) * 1000000L };
	}
	while ((ms == 0 ? sem_wait(&s->wake) : sem_timedwait(&s->wake, &end)) != 0 && errno == EINTR)
		if (atomic_load(&s->closing))
			break;
	atomic_exchange(&s->news, 0);
}

void
room_wake(struct table *t, const struct room *r)
{
	for (unsigned w = 0; w * WORD < in_use; w++) {
		uint32_t bits = atomic_load((_Atomic uint32_t *)(uintptr_t)&r->members[w]);

		for (unsigned i = w * WORD; bits != 0; i++, bits >>= 1)
			if (bits & 1)
				session_wake(&t->sessions[i]);
	}
}

void
room_add(struct table *t, unsigned room, unsigned session)
{
	/* otherwise the part to be replayed would count as sent */
	atomic_store(&t->boxes[session].sent[room], 0);
	atomic_store(&t->boxes[session].acked[room], 0);
	room_set(&t->rooms[room], session, true);
}

bool
room_has(const struct room *r, unsigned session)
{
	return atomic_load((_Atomic uint32_t *)(uintptr_t)&r->members[session / WORD]) >> session % WORD & 1;
}

void
room_set(struct room *r, unsigned session, bool member)
{
	uint32_t bit = (uint32_t)1 << session % WORD;

	if (member)
		atomic_fetch_or(&r->members[session / WORD], bit);
	else
		atomic_fetch_and(&r->members[session / WORD], ~bit);
}

bool
room_empty(const struct room *r)
{
	for (unsigned w = 0; w * WORD < in_use; w++)
		if (atomic_load((_Atomic uint32_t *)(uintptr_t)&r->members[w]) != 0)
			return false;
	return true;
}

bool
room_first(const struct table *t, const struct room *r, unsigned session)
{
	const struct session *s = &t->sessions[session];

	for (unsigned k = 0; k < session && s->account[0] != '\0'; k++)
		if (room_has(r, k) && name_same(slice_of(t->sessions[k].nick), slice_of(s->nick)))
			return false;
	return true;
}

unsigned
room_members(const struct table *t, const struct room *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < in_use; i++)
		n += room_has(r, i) && room_first(t, r, i);
	return n;
}

int
room_find(const struct table *t, struct slice name)
{
	for (int i = 0; i < ROOMS_MAX; i++)
		if (t->rooms[i].used && name_same(slice_of(t->rooms[i].name), name))
			return i;
	return -1;
}

void
session_mail(struct table *t, unsigned number, const struct mail_item *item, struct slice text)
{
	if (!mail_write(&t->boxes[number].mail, item, text, MAIL_OTHERS))
		atomic_store(&t->sessions[number].slow, true);
	session_wake(&t->sessions[number]);
}

bool
nick_elsewhere(const struct table *t, const struct room *room, unsigned number)
{
	struct slice nick = slice_of(t->sessions[number].nick);

	for (unsigned i = 0; i < in_use; i++) {
		const struct session *s = &t->sessions[i];

		if (i != number && s->registered && !s->left && name_same(slice_of(s->nick), nick) && (room == NULL || room_has(room, i)))
			return true;
	}
	return false;
}

/* Sends a member of some rooms of a leaving session how far their logs were, then the line. */
static void
mail_quit(struct table *t, unsigned to, unsigned from, struct slice line)
{
	bool shares = false;

	for (unsigned i = 0; i < ROOMS_MAX; i++) {
		struct room *r = &t->rooms[i];
		struct mail_item mark = { .type = MAIL_MARK, .room = (uint16_t)i, .end = atomic_load(&r->log.last_end) };

		if (!r->used || r->direct || !room_has(r, to) || !room_has(r, from) || nick_elsewhere(t, r, from))
			continue;
		session_mail(t, to, &mark, (struct slice){ "", 0 });
		shares = true;
	}
	if (shares)
		session_mail(t, to, &(struct mail_item){ .type = MAIL_LINE, .room = MAIL_NO_ROOM }, line);
}

static void
say_quit(struct table *t, unsigned number, struct slice reason)
{
	const struct session *s = &t->sessions[number];
	char text[LINE_BYTES], time[CLOCK_TEXT + 1];
	struct buffer line = BUFFER_IN(text);

	clock_text(clock_now(), time);
	buffer_format(&line, "time=%s :%s!%s@%s QUIT :%.*s\r\n", time, s->nick, s->user, s->host, (int)reason.length, reason.at);
	for (unsigned i = 0; i < in_use; i++)
		if (i != number && atomic_load(&t->sessions[i].live) && t->sessions[i].registered)
			mail_quit(t, i, number, buffer_slice(&line));
}

void
session_leave(struct table *t, unsigned number, struct slice reason)
{
	struct session *s = &t->sessions[number];

	names_take(t);
	if (s->registered && !s->left && !atomic_load(&t->stop))
		say_quit(t, number, reason);
	for (unsigned i = 0; i < ROOMS_MAX; i++) {
		struct room *r = &t->rooms[i];

		if (!room_has(r, number))
			continue;
		room_set(r, number, false);
		if (room_empty(r))
			r->used = false;
	}
	s->left = true;
	names_release(t);
}

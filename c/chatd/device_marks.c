/*
 * The read markers of the client's device. Lines in flight are lost if the connection breaks. So a
 * marker moves only as far as the client's system has acknowledged what was written:
 *
 *   - SEND records that for the rooms that the client is in (acked in the table), and KEEPER stores
 *     it every second.
 *   - RECV does so for the other logs (mark_later).
 *   - RECV stores all of them at the end of the session. After QUIT it counts everything that was
 *     written: the client was connected, and reads up to the end of the connection.
 */
#include "client.h"

#include "net.h"

#include <poll.h>
#include <string.h>

enum { OTHERS_MS = 2000, PAUSE_MS = 5, LAST_ACK_MS = 300 };

/* Of marks_begin_end; they use memory only as far as they are written. */
static struct mark ends[MY_FEEDS_MAX];
static unsigned ends_count;

static bool
same_device(const struct session *a, const struct session *b)
{
	return name_same(slice_of(a->account), slice_of(b->account)) && strcmp(a->device, b->device) == 0;
}

/* Reports whether it is not known yet how far another session of the same device was received: it
 * is ending and has not stored its read markers, or its SEND has not answered. */
static bool
is_unknown(const struct session *s)
{
	if (s->left || atomic_load((_Atomic bool *)(uintptr_t)&s->closing))
		return atomic_load((_Atomic unsigned *)(uintptr_t)&s->ending) != MARKS_SAVED;
	return atomic_load((_Atomic bool *)(uintptr_t)&s->asked);
}

/* Reports whether that is so of any other session of the device. At first it asks their SENDs. */
static bool
others_unknown(struct client *c, bool first)
{
	bool unknown = false;

	names_take(c->t);
	for (unsigned i = 0; i < table_sessions(); i++) {
		struct session *s = &c->t->sessions[i];

		if (i == c->number || !atomic_load(&s->live) || !same_device(c->me, s))
			continue;
		if (first) {
			atomic_store(&s->asked, true);
			session_wake(s);
		}
		unknown = unknown || is_unknown(s);
	}
	names_release(c->t);
	return unknown;
}

/* Waits for the other sessions of the device. One whose SEND waits for its client answers late or
 * never: so the limit is for all waits of this client together. */
static void
wait_for_others(struct client *c)
{
	static int waited_ms;
	bool first = true;

	for (; others_unknown(c, first) && waited_ms < OTHERS_MS; waited_ms += PAUSE_MS) {
		(void)poll(NULL, 0, PAUSE_MS);
		first = false;
	}
}

/* Returns how far another running session of the device has acknowledged the room; 0 if there is
 * none. */
static uint64_t
acked_elsewhere(struct client *c, const char *id)
{
	uint64_t acked = 0;

	names_take(c->t);
	for (unsigned room = 0; room < ROOMS_MAX; room++) {
		if (!c->t->rooms[room].used || strcmp(c->t->rooms[room].id, id) != 0)
			continue;
		for (unsigned i = 0; i < table_sessions(); i++) {
			uint64_t its = room_has(&c->t->rooms[room], i) ? atomic_load(&c->t->boxes[i].acked[room]) : 0;

			if (i != c->number && its > acked && same_device(c->me, &c->t->sessions[i]))
				acked = its;
		}
	}
	names_release(c->t);
	return acked;
}

/* Returns the marker of mark_later, NULL if there is none. */
static struct mark *
later_find(struct client *c, const char *id)
{
	for (unsigned i = 0; i < c->later.count; i++)
		if (strcmp(c->later.marks[i].id, id) == 0)
			return &c->later.marks[i];
	return NULL;
}

uint64_t
mark_of(struct client *c, const char *id)
{
	uint64_t mark = 0, elsewhere;
	const struct mark *m;

	if (c->me->account[0] == '\0')
		return 0;
	wait_for_others(c);
	elsewhere = acked_elsewhere(c, id);
	(void)mark_read(c->data, slice_of(c->me->account), slice_of(c->me->device), id, &mark);
	if (elsewhere > mark)
		mark = elsewhere;
	/* on this connection, what is in flight precedes everything else */
	m = later_find(c, id);
	return m != NULL && m->offset > mark ? m->offset : mark;
}

void
mark_later(struct client *c, const char *id, uint64_t offset)
{
	struct mark *m = later_find(c, id);

	if (c->me->account[0] == '\0')
		return;
	if (m == NULL && c->later.count < MY_FEEDS_MAX) {
		m = &c->later.marks[c->later.count++];
		memset(m, 0, sizeof *m);
		memcpy(m->id, id, sizeof m->id);
	}
	if (m != NULL && offset > m->offset)
		m->offset = offset; /* without a place it is lost, and the lines are repeated */
	c->later.after = atomic_load(&c->t->boxes[c->number].written);
}

void
mark_left(struct client *c, const struct joined *j)
{
	mark_later(c, j->log.id, atomic_load(&c->t->boxes[c->number].sent[j->room]));
}

static void
store(struct client *c, const struct mark *marks, unsigned count)
{
	/* one that cannot be stored only repeats messages */
	(void)marks_write(c->data, slice_of(c->me->account), slice_of(c->me->device), marks, count);
}

void
marks_check(struct client *c)
{
	uint64_t written, left;

	if (c->later.count == 0)
		return;
	written = atomic_load(&c->t->boxes[c->number].written); /* before the kernel is asked */
	left = net_unacknowledged(c->fd);
	if (written < left + c->later.after)
		return;
	store(c, c->later.marks, c->later.count);
	c->later.count = 0;
}

/* Counts what was written as received, if the client's system has acknowledged everything or if
 * certain. Returns whether it did. */
static bool
count_sent(struct client *c, bool certain)
{
	uint64_t sent[MY_FEEDS_MAX];

	for (unsigned i = 0; i < ends_count; i++) /* before the kernel is asked */
		sent[i] = atomic_load(&c->t->boxes[c->number].sent[ends[i].room]);
	if (!certain && net_unacknowledged(c->fd) > 0)
		return false;
	for (unsigned i = 0; i < ends_count; i++)
		ends[i].offset = sent[i];
	c->later.after = 0;
	return true;
}

void
marks_begin_end(struct client *c)
{
	if (c->me->account[0] == '\0')
		return;
	ends_count = marks_collect(c->t, c->number, ends);
	if (c->input_ended) /* the client may not read what is sent from now on */
		(void)count_sent(c, false);
}

void
marks_end(struct client *c)
{
	bool all_sent = atomic_load(&c->me->ending) == ALL_SENT, stops = atomic_load(&c->t->stop);

	if (ends_count + c->later.count == 0)
		return;
	if (all_sent && c->quit)
		(void)count_sent(c, true);
	else if (all_sent && stops && !c->input_ended)
		for (int ms = 0; ms < LAST_ACK_MS && !count_sent(c, false); ms += PAUSE_MS)
			(void)poll(NULL, 0, PAUSE_MS);
	store(c, ends, ends_count);
	marks_check(c);
}

/*
 * SEND: one process for each client, the only one that writes to the connection. It sends its mail
 * and the new lines in the logs of the client's rooms. It sleeps on its session's semaphore, where
 * many wake-ups may merge into one. So after each wake-up it checks everything: first the mail,
 * then every log up to COMMITTED as it was before the mail was read. Everything found is sent by
 * one write.
 *
 * A client that reads slowly delays no other client: the log is its queue, and its state is one
 * offset.
 */
#include "send.h"

#include "clock.h"
#include "feed.h"
#include "net.h"
#include "outbox.h"
#include "report.h"
#include "sandbox.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MARKS_SECONDS = 2, ACKED_MS = 1000 };

struct sender {
	struct table *t;
	struct session *me;
	struct box *box;
	unsigned caps;
	int data;
	bool done; /* RECV has asked to close */
	bool again; /* check again before sleeping */
	bool cut;  /* another process has asked to close, or SEND cannot continue */
	/* lines were sent that are not known to be acknowledged; with the time of the next check, in
	 * milliseconds, and the bytes that were written when all positions were noted */
	bool unacked;
	uint64_t check_at, noted;
	/* folder of the last replay if its log could not be read, otherwise "" */
	char unread[PATH_MAX_ROOM];
	unsigned long batches; /* replay batches so far, which number their ids */
	int top; /* index after the last feed ever used */
	struct feed feeds[MY_FEEDS_MAX];
};

static struct outbox out; /* 64 KiB; uses memory only as far as it is written */

static struct feed *
feed_of(struct sender *s, unsigned room)
{
	for (int i = 0; i < s->top; i++)
		if (s->feeds[i].used && s->feeds[i].room == room)
			return &s->feeds[i];
	return NULL;
}

/* How to send the lines that were read to the end of the outbox. */
struct lines {
	uint64_t first;   /* offset of the first byte */
	size_t length;
	struct feed *own; /* the client's own lines are left out; NULL: none are */
	const char *batch;/* tag of a replay's batch, NULL: none */
	uint64_t after;   /* lines before this offset are left out */
	uint64_t since;   /* lines not later than this time are left out, in milliseconds; 0: none */
	uint64_t replay_ms; /* time of a replay in milliseconds, 0 if the lines are new */
};

static bool
wanted(const struct lines *l, struct slice line, uint64_t offset)
{
	uint64_t ms;

	if (!stored_formed(line))
		return false;
	if (l->own != NULL)
		return !feed_is_own(l->own, offset);
	/* old lines may be damaged; new ones were written by this server */
	if (offset < l->after || !stored_whole(line, offset))
		return false;
	return l->since == 0 || (stored_time(line, &ms) && ms > l->since);
}

/* Writes the stamp of a replayed line for a client without server-time, and returns it; NULL if the
 * line needs none. */
static const char *
stamp_of(const struct sender *s, const struct lines *l, struct slice line, char stamp[VIEW_STAMP_MAX + 1])
{
	uint64_t ms;

	if (l->replay_ms == 0 || (s->caps & CAP_SERVER_TIME) || !stored_time(line, &ms))
		return NULL;
	view_stamp(stamp, ms, l->replay_ms);
	return stamp;
}

/* Converts the stored lines at the end of the outbox, in place, to what the client receives, which
 * is never longer. */
static void
show_lines(struct sender *s, const struct lines *l)
{
	char *to = out.bytes + out.length;
	struct slice rest = { to, l->length };
	uint64_t offset = l->first;
	char stamp[VIEW_STAMP_MAX + 1];

	while (rest.length > 0) {
		const char *begin = rest.at;
		struct slice line = { begin, slice_cut(&rest, '\n').length + 1 };

		if (wanted(l, line, offset))
			to += view_write(to, stored_tags(line), stored_plain(line), s->caps, l->batch, stamp_of(s, l, line, stamp));
		offset += line.length;
	}
	out.length = (size_t)(to - out.bytes);
}

/* Sends the lines of a log before until. Returns false if they could not be read. */
static bool
deliver(struct sender *s, struct reader *r, uint64_t until, struct lines l)
{
	for (;;) {
		char *room = outbox_room(&out, 2 * STORED_MAX);
		long n = reader_read(r, room, OUTBOX_BYTES - out.length, until, &l.first);

		if (n < 0)
			report("cannot read a log: %s", strerror(errno));
		if (n <= 0 || out.failed)
			return n >= 0;
		l.length = (size_t)n;
		show_lines(s, &l);
	}
}

static void
deliver_feed(struct sender *s, struct feed *f, uint64_t until)
{
	if (f->reader.position >= until)
		return;
	/* what could not be read is sent after the next wake-up */
	(void)deliver(s, &f->reader, until, (struct lines){ .own = f });
}

/* Stores how far the client has acknowledged each room: as far as it was sent, or as was noted. */
static void
store_acked(struct sender *s, bool all)
{
	for (int i = 0; i < s->top; i++)
		if (s->feeds[i].used && !s->feeds[i].gap)
			atomic_store(&s->box->acked[s->feeds[i].room], all ? s->feeds[i].reader.position : s->feeds[i].noted);
}

static void
note_positions(struct sender *s)
{
	s->unacked = true;
	s->noted = out.written;
	for (int i = 0; i < s->top; i++)
		s->feeds[i].noted = s->feeds[i].reader.position;
}

/* Asks the kernel what the client's system has acknowledged, once a second while that is not
 * everything, or when another session of the device asks. On a busy connection something is always
 * in flight: then it is enough that the bytes are acknowledged that had been written when the
 * positions were noted. */
static void
check_acked(struct sender *s)
{
	bool asked = atomic_load(&s->me->asked);
	uint64_t left;

	if (s->unacked && !out.failed && (asked || clock_steady() >= s->check_at)) {
		left = net_unacknowledged(out.fd);
		if (left == 0 || out.written - left >= s->noted) {
			store_acked(s, left == 0);
			note_positions(s);
		}
		s->unacked = left > 0;
		s->check_at = clock_steady() + ACKED_MS;
	}
	if (asked)
		atomic_store(&s->me->asked, false);
}

/* Sends the outbox, and records how far each room was sent. */
static void
flush(struct sender *s)
{
	bool moved = false;

	outbox_flush(&out);
	if (out.failed) {
		atomic_store(&s->me->closing, true); /* set before RECV could count unsent lines as sent */
		return;
	}
	atomic_store(&s->box->written, out.written);
	for (int i = 0; i < s->top; i++) {
		const struct feed *f = &s->feeds[i];
		bool marked = f->used && !f->gap;

		moved = moved || (marked && f->reader.position != s->box->sent[f->room]);
		if (marked)
			atomic_store(&s->box->sent[f->room], f->reader.position);
	}
	if (moved && !s->unacked && s->me->account[0] != '\0') { /* the others have no read markers */
		note_positions(s);
		s->check_at = clock_steady() + ACKED_MS;
	}
}

/* Sends the lines that must precede the item. */
static void
deliver_before(struct sender *s, const struct mail_item *item)
{
	struct feed *f = item->room == MAIL_NO_ROOM ? NULL : feed_of(s, item->room);
	uint64_t committed;

	if (f == NULL)
		return;
	committed = reader_committed(&f->reader);
	deliver_feed(s, f, item->end < committed ? item->end : committed);
}

static void
follow(struct sender *s, const struct mail_item *item, struct slice folder)
{
	char path[PATH_MAX_ROOM];
	int i;

	for (i = 0; i < MY_FEEDS_MAX - 1 && s->feeds[i].used; i++)
		continue;
	/* the client is replayed the rest when it reconnects */
	if (s->feeds[i].used || !slice_copy(folder, path, sizeof path)) {
		outbox_add(&out, slice_of("ERROR :Closing link: too many conversations at once\r\n"));
		s->cut = true;
		return;
	}
	if (!reader_open(&s->feeds[i].reader, s->data, path, item->end)) {
		report("cannot follow %s: %s", path, strerror(errno));
		s->cut = true;
		return;
	}
	s->top = i < s->top ? s->top : i + 1;
	s->feeds[i].used = true;
	s->feeds[i].room = item->room;
	s->feeds[i].owns = 0;
	s->feeds[i].gap = strcmp(s->unread, path) == 0;
	s->feeds[i].seen = item->end;
	s->feeds[i].noted = 0; /* the replay before it may be in flight */
	s->again = true; /* a commit meanwhile would not wake SEND again */
}

static void
leave(struct sender *s, const struct mail_item *item)
{
	struct feed *f = feed_of(s, item->room);

	if (f == NULL)
		return;
	flush(s); /* RECV reads how far this was sent (mark_left) */
	reader_close(&f->reader);
	f->used = false;
}

static void
note_own(struct sender *s, const struct mail_item *item)
{
	struct feed *f = feed_of(s, item->room);

	if (f == NULL || feed_own(f, item->first, item->end))
		return;
	/* all but the newest own lines are committed, because RECV waits for each batch */
	deliver_feed(s, f, reader_committed(&f->reader));
	(void)feed_own(f, item->first, item->end);
}

/* Sends the lines of a replay. Returns false if its log could not be read. */
static bool
deliver_old(struct sender *s, const struct mail_item *item, const char *folder, struct lines how)
{
	struct reader r;
	bool fine;

	if (!reader_open(&r, s->data, folder, item->end)) {
		report("cannot read %s: %s", folder, strerror(errno));
		return false;
	}
	fine = reader_back(&r, item->end, item->count) && deliver(s, &r, item->end, how);
	reader_close(&r);
	return fine;
}

/* Tells the client that a replay is not complete. The read marker stays where it is, so that the
 * next session of the device is sent the rest. */
static void
note_unread(struct sender *s, const char *folder, struct slice room)
{
	char line[256];
	int n = snprintf(line, sizeof line, "NOTICE * :Messages of %.*s that you missed could not be read: to see them, connect again later\r\n", (int)room.length, room.at);

	if (n > 0 && (size_t)n < sizeof line)
		outbox_add(&out, (struct slice){ line, (size_t)n });
	snprintf(s->unread, sizeof s->unread, "%s", folder);
	atomic_store(&s->box->unread, true);
}

/* Replays lines, in a batch if the client supports that. text: FOLDER ROOM MS. */
static void
replay(struct sender *s, const struct mail_item *item, struct slice text)
{
	char folder[PATH_MAX_ROOM], tag[VIEW_EXTRA_MAX + 1], line[256];
	struct slice path = slice_cut(&text, ' '), room = slice_cut(&text, ' ');
	unsigned long long since = 0;
	bool batch = s->caps & CAP_BATCH, fine;
	int n;

	if (!slice_copy(path, folder, sizeof folder))
		return;
	s->unread[0] = '\0';
	(void)slice_number(text, UINT64_MAX, &since);
	n = snprintf(tag, sizeof tag, "batch=h%lu", ++s->batches);
	if (batch && n > 0 && (n = snprintf(line, sizeof line, "BATCH +%s chathistory %.*s\r\n", tag + 6, (int)room.length, room.at)) > 0)
		outbox_add(&out, (struct slice){ line, (size_t)n });
	fine = deliver_old(s, item, folder, (struct lines){ .batch = batch ? tag : NULL, .after = item->first, .since = since, .replay_ms = clock_now() });
	if (batch && (n = snprintf(line, sizeof line, "BATCH -%s\r\n", tag + 6)) > 0)
		outbox_add(&out, (struct slice){ line, (size_t)n });
	if (!fine)
		note_unread(s, folder, room);
	flush(s); /* when RECV sees this item as done, it was sent */
}

static void
show_line(struct sender *s, struct slice text)
{
	struct slice tags = slice_cut(&text, ' ');
	char *to = outbox_room(&out, MAIL_TEXT_MAX + VIEW_EXTRA_MAX);

	out.length += view_write(to, tags, text, s->caps, NULL, NULL);
}

static void
handle(struct sender *s, const struct mail_item *item, struct slice text)
{
	switch ((enum mail_type)item->type) {
	case MAIL_TEXT:
		deliver_before(s, item);
		outbox_add(&out, text);
		break;
	case MAIL_LINE:
		deliver_before(s, item);
		show_line(s, text);
		break;
	case MAIL_MARK: deliver_before(s, item); break;
	case MAIL_FOLLOW: follow(s, item, text); break;
	case MAIL_LEAVE: leave(s, item); break;
	case MAIL_OWN: note_own(s, item); break;
	case MAIL_REPLAY: replay(s, item, text); break;
	case MAIL_CLOSE:
		outbox_add(&out, text);
		s->done = true;
		break;
	case MAIL_END:
		outbox_add(&out, text);
		s->cut = true;
		break;
	case MAIL_SKIP: break;
	}
}

/* Checks everything once. COMMITTED is read before the mail, so the mail has all items that must
 * precede it. */
static void
look(struct sender *s)
{
	const struct mail_item *item;
	struct slice text;

	s->again = false;
	s->caps = atomic_load(&s->me->caps);
	for (int i = 0; i < s->top; i++)
		if (s->feeds[i].used)
			s->feeds[i].seen = reader_committed(&s->feeds[i].reader);
	while (!s->done && !s->cut && (item = mail_next(&s->box->mail, &text)) != NULL) {
		handle(s, item, text);
		mail_done(&s->box->mail);
	}
	for (int i = 0; i < s->top && !s->done && !s->cut; i++)
		if (s->feeds[i].used)
			deliver_feed(s, &s->feeds[i], s->feeds[i].seen);
	flush(s);
	check_acked(s);
}

static void
hurry(int signal)
{
	(void)signal;
	out.hurry = true;
}

static bool
should_end(struct sender *s)
{
	if (atomic_load(&s->me->slow)) {
		outbox_add(&out, slice_of("ERROR :Closing link: too slow; the history has what you missed\r\n"));
		outbox_flush(&out);
		return true;
	}
	return s->done || s->cut || out.failed || atomic_load(&s->me->closing);
}

/* Notifies RECV that everything was sent, and waits until it has stored the read markers or has
 * ended. */
static void
wait_for_marks(struct sender *s)
{
	struct timespec end;

	atomic_store(&s->me->ending, ALL_SENT);
	sem_post(&s->box->mail.emptied);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += MARKS_SECONDS;
	while (atomic_load(&s->me->ending) != MARKS_SAVED && !atomic_load(&s->me->closing)) {
		if (sem_timedwait(&s->me->wake, &end) != 0 && errno == ETIMEDOUT)
			return;
		atomic_exchange(&s->me->news, 0);
	}
}

void
send_run(struct table *t, unsigned number, int fd, int data)
{
	/* static memory is zero and used only as far as it is written, which an assignment would not
	 * be */
	static struct sender s;
	struct sigaction act = { .sa_handler = hurry };

	s.t = t;
	s.me = &t->sessions[number];
	s.box = &t->boxes[number];
	s.data = data;
	out.fd = fd;
	sigaction(SIGTERM, &act, NULL);
	atomic_exchange(&s.me->news, 0);
	sandbox_send();
	for (look(&s); !should_end(&s); look(&s))
		if (!s.again)
			session_sleep(s.me, s.unacked ? ACKED_MS : 0);
	if (s.done && !out.failed)
		wait_for_marks(&s);
	atomic_store(&s.me->closing, true);
	/* RECV then reads the end of the connection, and ends, too */
	shutdown(fd, out.failed ? SHUT_RDWR : SHUT_WR);
	_exit(0);
}

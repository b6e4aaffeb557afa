/*
 * SEND: one process a client. It alone writes to the connection: what it is told by mail, and what is new in the
 * logs of the client's rooms. It sleeps on its session's semaphore, on which many wakes count as one, so after
 * each it looks at everything: mail first, then every log up to what was committed before the mail was looked
 * at. All that is found goes out with one write.
 *
 * A client that reads slowly holds up nobody: the log is its queue, and what it has of it is one offset.
 */
#include "send.h"

#include "feed.h"
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

enum { MARKS_SECONDS = 2 };

struct sender {
	struct table *t;
	struct session *me;
	struct box *box;
	unsigned caps;
	int data;
	bool done; /* RECV said so */
	bool again; /* look once more before sleeping */
	bool cut;  /* somebody else did, or it cannot go on */
	unsigned long batches; /* that were begun, which names them */
	int top; /* feeds from here on were never used */
	struct feed feeds[MY_FEEDS_MAX];
};

static struct outbox out; /* 64 KiB, of which as much is in memory as was ever used */

static struct feed *
feed_of(struct sender *s, unsigned room)
{
	for (int i = 0; i < s->top; i++)
		if (s->feeds[i].used && s->feeds[i].room == room)
			return &s->feeds[i];
	return NULL;
}

/* What is to be done with lines that were read to the end of the outbox. */
struct lines {
	uint64_t first;   /* offset of the first byte */
	size_t length;
	struct feed *own; /* lines that are its own are left out; NULL: none are */
	const char *batch;/* tag of a batch, NULL: they are new */
	uint64_t after;   /* lines that begin before are left out, */
	uint64_t since;   /* and those that are not later than this time */
};

static bool
wanted(const struct lines *l, struct slice line, uint64_t offset)
{
	uint64_t ms;

	if (!stored_formed(line))
		return false;
	if (l->own != NULL)
		return !feed_is_own(l->own, offset);
	/* old lines may be damaged; new ones we wrote ourselves */
	if (offset < l->after || !stored_whole(line, offset))
		return false;
	return l->since == 0 || (stored_time(line, &ms) && ms > l->since);
}

/* Turns the stored lines at the end of the outbox, in place, into what the client gets of them:
 * never more. */
static void
show_lines(struct sender *s, const struct lines *l)
{
	char *to = out.bytes + out.length;
	struct slice rest = { to, l->length };
	uint64_t offset = l->first;

	while (rest.length > 0) {
		const char *begin = rest.at;
		struct slice line = { begin, slice_cut(&rest, '\n').length + 1 };

		if (wanted(l, line, offset))
			to += view_write(to, stored_tags(line), stored_plain(line), s->caps, l->batch);
		offset += line.length;
	}
	out.length = (size_t)(to - out.bytes);
}

/* Sends the lines of a log before until. */
static void
deliver(struct sender *s, struct reader *r, uint64_t until, struct lines l)
{
	for (;;) {
		char *room = outbox_room(&out, 2 * STORED_MAX);
		long n = reader_read(r, room, OUTBOX_BYTES - out.length, until, &l.first);

		if (n < 0)
			report("a log cannot be read: %s", strerror(errno));
		if (n <= 0 || out.failed)
			return;
		l.length = (size_t)n;
		show_lines(s, &l);
	}
}

static void
deliver_feed(struct sender *s, struct feed *f, uint64_t until)
{
	if (f->reader.position >= until)
		return;
	deliver(s, &f->reader, until, (struct lines){ .own = f });
}

/* Writes what there is; then it counts as sent. */
static void
flush(struct sender *s)
{
	outbox_flush(&out);
	if (out.failed)
		atomic_store(&s->me->closing, true); /* before RECV takes for sent what was not */
	for (int i = 0; i < s->top && !out.failed; i++)
		if (s->feeds[i].used)
			atomic_store(&s->box->sent[s->feeds[i].room], s->feeds[i].reader.position);
}

/* What the mail's item says has to be sent before it. */
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
	/* it will find what it misses when it comes back */
	if (s->feeds[i].used || !slice_copy(folder, path, sizeof path)) {
		outbox_add(&out, slice_of("ERROR :Closing link: too many conversations at once\r\n"));
		s->cut = true;
		return;
	}
	if (!reader_open(&s->feeds[i].reader, s->data, path, item->end)) {
		report("%s cannot be followed: %s", path, strerror(errno));
		s->cut = true;
		return;
	}
	s->top = i < s->top ? s->top : i + 1;
	s->feeds[i].used = true;
	s->feeds[i].room = item->room;
	s->feeds[i].owns = 0;
	s->feeds[i].seen = item->end;
	s->again = true; /* something may have come since, and its wake is over */
}

static void
leave(struct sender *s, const struct mail_item *item)
{
	struct feed *f = feed_of(s, item->room);

	if (f == NULL)
		return;
	flush(s); /* RECV asks how far this was sent */
	reader_close(&f->reader);
	f->used = false;
}

static void
note_own(struct sender *s, const struct mail_item *item)
{
	struct feed *f = feed_of(s, item->room);

	if (f == NULL || feed_own(f, item->first, item->end))
		return;
	/* all but the newest own ones are committed: RECV waits for each */
	deliver_feed(s, f, reader_committed(&f->reader));
	(void)feed_own(f, item->first, item->end);
}

/* Sends old lines, in a batch where the client knows what that is. text: FOLDER ROOM MS. */
static void
replay(struct sender *s, const struct mail_item *item, struct slice text)
{
	char folder[PATH_MAX_ROOM], tag[VIEW_EXTRA_MAX + 1], line[256];
	struct slice path = slice_cut(&text, ' '), room = slice_cut(&text, ' ');
	unsigned long long since = 0;
	struct reader r;
	bool batch = s->caps & CAP_BATCH;
	int n;

	if (!slice_copy(path, folder, sizeof folder) || !reader_open(&r, s->data, folder, item->end))
		return;
	(void)slice_number(text, UINT64_MAX, &since);
	n = snprintf(tag, sizeof tag, "batch=h%lu", ++s->batches);
	if (batch && n > 0 && (n = snprintf(line, sizeof line, "BATCH +%s chathistory %.*s\r\n", tag + 6, (int)room.length, room.at)) > 0)
		outbox_add(&out, (struct slice){ line, (size_t)n });
	if (reader_back(&r, item->end, item->count))
		deliver(s, &r, item->end, (struct lines){ .batch = batch ? tag : NULL, .after = item->first, .since = since });
	if (batch && (n = snprintf(line, sizeof line, "BATCH -%s\r\n", tag + 6)) > 0)
		outbox_add(&out, (struct slice){ line, (size_t)n });
	reader_close(&r);
	flush(s); /* when RECV is told that this is done, it is sent */
}

static void
show_line(struct sender *s, struct slice text)
{
	struct slice tags = slice_cut(&text, ' ');
	char *to = outbox_room(&out, MAIL_TEXT_MAX + VIEW_EXTRA_MAX);

	out.length += view_write(to, tags, text, s->caps, NULL);
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

/* One look at everything. What is committed is read first: what must come before it is in the mail
 * then. */
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
		outbox_add(&out, slice_of("ERROR :Closing link: too slow; what was said meanwhile is in the history\r\n"));
		outbox_flush(&out);
		return true;
	}
	return s->done || s->cut || out.failed || atomic_load(&s->me->closing);
}

/* Tells RECV that all is sent, and waits until it has written that down, or is gone. */
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
	/* all zero, and as much of it in memory as is used: to assign it whole would touch all */
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
			session_sleep(s.me);
	if (s.done && !out.failed)
		wait_for_marks(&s);
	atomic_store(&s.me->closing, true);
	shutdown(fd, out.failed ? SHUT_RDWR : SHUT_WR); /* RECV reads the end, and ends too */
	_exit(0);
}

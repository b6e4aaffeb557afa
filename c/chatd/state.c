#include "state.h"

#include "buffer.h"
#include "clock.h"
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STATE_MAX = MODES_MAX + 2048 };

/* Iterates over the letters of MODE lines. */
struct walk {
	struct slice rest; /* remaining lines */
	struct line line;
	size_t at;         /* next letter */
	unsigned next;     /* next parameter */
};

/* Reports whether a letter takes a parameter when it is set. */
static bool
has_parameter(char letter)
{
	return strchr("bklov", letter) != NULL;
}

static bool
next_line(struct walk *w)
{
	while (w->rest.length > 0) {
		struct slice text = slice_cut(&w->rest, '\n');

		if (text.length > 0 && text.at[text.length - 1] == '\r')
			text.length--;
		w->at = 0;
		w->next = 2;
		if (line_parse_any(text, &w->line) == LINE_FINE && slice_is(w->line.command, "MODE"))
			return true;
	}
	w->line.count = 0;
	return false;
}

static bool
next_mode(struct walk *w, struct mode *m)
{
	for (;;) {
		struct slice letters = line_param(&w->line, 1);

		if (w->at >= letters.length) {
			if (!next_line(w))
				return false;
			continue;
		}
		m->letter = letters.at[w->at++];
		if (m->letter == '+' || m->letter == '\0')
			continue;
		m->by = w->line.source;
		m->time = line_param(&w->line, 3);
		m->parameter = has_parameter(m->letter) ? line_param(&w->line, w->next++) : (struct slice){ "", 0 };
		return true;
	}
}

static struct walk
walk_modes(const struct room *r)
{
	return (struct walk){ .rest = slice_of(r->modes) };
}

bool
state_has(const struct room *r, char flag)
{
	return strchr(r->flags, flag) != NULL;
}

char
state_rank(const struct room *r, struct slice account)
{
	struct walk w = walk_modes(r);
	struct mode m;
	char rank = '\0';

	while (account.length > 0 && next_mode(&w, &m)) {
		if ((m.letter != 'o' && m.letter != 'v') || !name_same(m.parameter, account))
			continue;
		if (m.letter == 'o')
			return '@';
		rank = '+';
	}
	return rank;
}

bool
state_operator(const struct room *r, struct slice account)
{
	return !r->ranked || state_rank(r, account) == '@';
}

bool
state_next_ban(struct slice *rest, struct mode *m)
{
	struct walk w = { .rest = *rest };

	while (next_mode(&w, m))
		if (m->letter == 'b') { /* it has a line of its own */
			*rest = w.rest;
			return true;
		}
	return false;
}

bool
state_banned(const struct room *r, struct slice source)
{
	struct slice rest = slice_of(r->modes);
	struct mode m;

	while (r->banning && state_next_ban(&rest, &m))
		if (name_matches(m.parameter, source))
			return true;
	return false;
}

/* Reads the MODE lines about the room as a whole. */
static void
take_modes(struct room *r)
{
	struct walk w = walk_modes(r);
	unsigned long long limit;
	struct mode m;
	char flags[sizeof r->flags];
	size_t n = 0;

	while (next_mode(&w, &m)) {
		r->ranked = r->ranked || m.letter == 'o' || m.letter == 'v';
		r->banning = r->banning || m.letter == 'b';
		if (m.letter == 'k')
			(void)slice_copy(m.parameter, r->key, sizeof r->key);
		else if (m.letter == 'l' && slice_number(m.parameter, SESSIONS_MAX, &limit))
			r->limit = (unsigned)limit;
		else if (!has_parameter(m.letter) && n + 1 < sizeof flags && memchr(flags, m.letter, n) == NULL)
			flags[n++] = m.letter;
		/* the line has the room's modes: they replace the default ones */
		if (strchr("bov", m.letter) == NULL) {
			memcpy(r->flags, flags, n);
			r->flags[n] = '\0';
		}
	}
}

/* Takes a line of the file: the topic is stored separately, unknown lines are preserved. */
static void
take_line(struct room *r, struct slice text, struct buffer *others)
{
	unsigned long long at;
	struct line l;

	if (text.length > 0 && text.at[text.length - 1] == '\r')
		text.length--;
	if (line_parse_any(text, &l) != LINE_FINE)
		return;
	if (name_same(line_param(&l, 0), slice_of(r->name)))
		(void)slice_copy(line_param(&l, 0), r->name, sizeof r->name);
	if (slice_is(l.command, "TOPIC")) {
		(void)slice_copy(line_param(&l, 1), r->topic, sizeof r->topic);
		if (l.source.length == 0 || !slice_copy(l.source, r->topic_by, sizeof r->topic_by))
			memcpy(r->topic_by, "*", 2);
		r->topic_at = 0;
	} else if (slice_is(l.command, "333")) {
		if (slice_equal(line_param(&l, 1), slice_of(r->topic_by)) && slice_number(line_param(&l, 2), INT64_MAX, &at))
			r->topic_at = at;
	} else {
		buffer_add(others, text);
		buffer_text(others, "\r\n");
	}
}

static void
file_of(const struct room *r, const char *name, char *to, size_t capacity)
{
	snprintf(to, capacity, "%s/%s", r->path, name);
}

static void
make_new(int data, const char *server, struct room *r)
{
	snprintf(r->modes, sizeof r->modes, ":%s CREATED %s %" PRIu64 "\r\n", server, r->name, clock_now() / 1000);
	/* if it fails, the room is created again at the next start */
	(void)state_write(data, server, r, &(struct topic){ "", "", 0 });
}

void
state_read(int data, const char *server, struct room *r)
{
	char name[PATH_MAX_ROOM + 16];
	static char text[STATE_MAX];
	struct buffer others = { .at = r->modes, .capacity = sizeof r->modes - 1 };
	struct slice rest = { text, 0 };
	ssize_t n;
	int fd;

	r->topic[0] = r->topic_by[0] = r->key[0] = r->modes[0] = '\0';
	r->ranked = r->banning = r->too_long = false;
	r->topic_at = r->limit = 0;
	memcpy(r->flags, "nt", 3);
	if (r->direct)
		return;
	file_of(r, "state", name, sizeof name);
	fd = openat(data, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT)
			make_new(data, server, r);
		return;
	}
	n = read(fd, text, sizeof text);
	close(fd);
	rest.length = n > 0 ? (size_t)n : 0;
	while (rest.length > 0)
		take_line(r, slice_cut(&rest, '\n'), &others);
	r->too_long = others.full || n < 0 || n == (ssize_t)sizeof text;
	r->modes[others.length] = '\0';
	take_modes(r);
}

bool
state_write(int data, const char *server, const struct room *r, const struct topic *topic)
{
	char name[PATH_MAX_ROOM + 16], new_name[PATH_MAX_ROOM + 16];
	static char text[STATE_MAX];
	struct buffer b = BUFFER_IN(text);
	int fd, dir;
	bool fine;

	if (r->too_long) { /* the lines that were not read would be lost */
		errno = EFBIG;
		return false;
	}
	buffer_text(&b, r->modes);
	if (topic->text[0] != '\0')
		buffer_format(&b, ":%s TOPIC %s :%s\r\n:%s 333 %s %s %" PRIu64 "\r\n", topic->by, r->name, topic->text, server, r->name, topic->by, topic->at);
	file_of(r, "state", name, sizeof name);
	file_of(r, "state.new", new_name, sizeof new_name);
	fd = openat(data, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	errno = ENOSPC; /* the reason of a short write */
	fine = !b.full && write(fd, text, b.length) == (ssize_t)b.length && fsync(fd) == 0;
	close(fd);
	fine = fine && renameat(data, new_name, data, name) == 0;
	if (!fine) { /* it would use space on a full disk */
		int why = errno;

		(void)unlinkat(data, new_name, 0);
		errno = b.full ? EFBIG : why;
		return false;
	}
	dir = openat(data, r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fine = dir >= 0 && fsync(dir) == 0;
	if (dir >= 0)
		close(dir);
	return fine;
}

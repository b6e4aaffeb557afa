#include "state.h"

#include "buffer.h"
#include "line.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STATE_MAX = MODES_MAX + 1024 };

static void
file_of(const struct room *r, const char *name, char *to, size_t room)
{
	snprintf(to, room, "%s/%s", r->path, name);
}

static void
nick_of(struct slice source, char *to, size_t room)
{
	(void)slice_copy(slice_cut(&source, '!'), to, room);
}

/* Letters that take a parameter when they are set. */
static bool
has_parameter(char mode)
{
	return strchr("bklov", mode) != NULL;
}

static void
take_modes(struct room *r, const struct line *l)
{
	struct slice letters = line_param(l, 1);
	unsigned next = 2;

	for (size_t i = 0; i < letters.length; i++) {
		struct slice parameter = { "", 0 };

		if (letters.at[i] == '+')
			continue;
		if (has_parameter(letters.at[i]))
			parameter = line_param(l, next++);
		if (letters.at[i] == 'k')
			(void)slice_copy(parameter, r->key, sizeof r->key);
		r->invited_only = r->invited_only || letters.at[i] == 'i';
		r->topic_locked = r->topic_locked || letters.at[i] == 't';
	}
}

static void
take_state(struct room *r, struct slice text, struct buffer *others)
{
	struct line l;

	if (text.length > 0 && text.at[text.length - 1] == '\r')
		text.length--;
	if (line_parse_any(text, &l) != LINE_FINE)
		return;
	if (slice_is(l.command, "TOPIC")) {
		(void)slice_copy(line_param(&l, 1), r->topic, sizeof r->topic);
		nick_of(l.source, r->topic_by, sizeof r->topic_by);
		return;
	}
	if (slice_is(l.command, "MODE"))
		take_modes(r, &l);
	buffer_add(others, text);
	buffer_text(others, "\r\n");
}

void
state_read(int data, struct room *r)
{
	char name[PATH_MAX_ROOM + 16], text[STATE_MAX];
	struct buffer others = { .at = r->modes, .room = sizeof r->modes - 1 };
	struct slice rest = { text, 0 };
	ssize_t n;
	int fd;

	r->topic[0] = r->topic_by[0] = r->key[0] = r->modes[0] = '\0';
	r->invited_only = r->topic_locked = false;
	file_of(r, "state", name, sizeof name);
	fd = openat(data, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof text);
	close(fd);
	rest.length = n > 0 ? (size_t)n : 0;
	while (rest.length > 0)
		take_state(r, slice_cut(&rest, '\n'), &others);
	r->modes[others.length] = '\0';
}

bool
state_write(int data, const struct room *r)
{
	char name[PATH_MAX_ROOM + 16], new_name[PATH_MAX_ROOM + 16], text[STATE_MAX];
	struct buffer b = BUFFER_IN(text);
	int fd, dir;
	bool fine;

	if (r->topic[0] != '\0')
		buffer_format(&b, ":%s TOPIC %s :%s\r\n", r->topic_by, r->name, r->topic);
	buffer_text(&b, r->modes);
	file_of(r, "state", name, sizeof name);
	file_of(r, "state.new", new_name, sizeof new_name);
	fd = openat(data, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	fine = !b.full && write(fd, text, b.length) == (ssize_t)b.length && fsync(fd) == 0;
	close(fd);
	fine = fine && renameat(data, new_name, data, name) == 0;
	dir = openat(data, r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fine = fine && dir >= 0 && fsync(dir) == 0;
	if (dir >= 0)
		close(dir);
	return fine;
}

bool
state_operator(const struct room *r, struct slice account)
{
	struct slice rest = slice_of(r->modes);
	bool any = false;

	while (rest.length > 0) {
		struct slice text = slice_cut(&rest, '\n');
		struct line l;

		if (text.length > 0)
			text.length--; /* the CR */
		if (line_parse_any(text, &l) != LINE_FINE || !slice_is(l.command, "MODE"))
			continue;
		for (unsigned i = 2, at = 0; at < line_param(&l, 1).length; at++) {
			char mode = line_param(&l, 1).at[at];
			struct slice parameter = has_parameter(mode) ? line_param(&l, i++) : (struct slice){ "", 0 };

			any = any || mode == 'o';
			if (mode == 'o' && account.length > 0 && name_same(parameter, account))
				return true;
		}
	}
	return !any;
}

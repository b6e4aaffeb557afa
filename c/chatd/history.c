/* What was said before: replayed on joining to who does not ask by itself, and CHATHISTORY LATEST for who does. */
#include "client.h"

#include "clock.h"
#include "marks.h"
#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HISTORY_MAX = 1000, REQUEST_MAX = PATH_MAX_ROOM + ROOM_MAX + 32 };

/* Which lines of a log are asked for. */
struct request {
	const char *folder;
	const char *name;   /* of the room, or of who the client talks to */
	unsigned room;      /* number in the table */
	uint64_t from, end; /* offsets; */
	uint64_t since;     /* later than this time, */
	unsigned count;     /* the newest so many */
};

static void
ask(struct client *c, const struct request *r)
{
	struct mail_item item = { .type = MAIL_REPLAY, .room = (uint16_t)r->room, .count = r->count, .first = r->from, .end = r->end };
	char text[REQUEST_MAX];
	int n = snprintf(text, sizeof text, "%s %s %" PRIu64, r->folder, r->name, r->since);

	if (n > 0 && (size_t)n < sizeof text)
		tell_self(c, &item, (struct slice){ text, (size_t)n });
}

void
replay_missed(struct client *c, struct joined *j, uint64_t end)
{
	const struct room *room = &c->t->rooms[j->room];
	struct request r = { .folder = room->path, .name = room->name, .room = j->room, .end = end, .count = c->o->replay };

	if (c->caps & CAP_CHATHISTORY)
		return;
	if (c->me->account[0] != '\0')
		(void)mark_read(c->data, slice_of(c->me->account), slice_of(c->me->device), j->log.id, &r.from);
	if (r.from < end && r.count > 0)
		ask(c, &r);
}

void
mark_save(struct client *c, const struct joined *j)
{
	uint64_t sent = atomic_load(&c->t->boxes[c->number].sent[j->room]);

	if (c->me->account[0] == '\0' || sent == 0)
		return;
	(void)mark_write(c->data, slice_of(c->me->account), slice_of(c->me->device), j->log.id, sent); /* one that is lost repeats messages */
}

/* Reads "*", "timestamp=TIME" or "msgid=ROOM-OFFSET". Lines must be later than that. */
static bool
parse_point(struct slice text, struct request *r)
{
	unsigned long long offset;
	struct slice kind;

	if (slice_equal(text, slice_of("*")))
		return true;
	kind = slice_cut(&text, '=');
	if (slice_equal(kind, slice_of("timestamp")))
		return clock_parse(text, &r->since);
	slice_cut(&text, '-');
	if (!slice_equal(kind, slice_of("msgid")) || !slice_number(text, INT64_MAX, &offset))
		return false;
	r->from = offset + 1;
	return true;
}

static void
history_fail(struct client *c, const char *code, struct slice what, const char *text)
{
	char with[128];

	snprintf(with, sizeof with, "%s LATEST%s%.*s", code, what.length > 0 ? " " : "", (int)what.length, what.at);
	fail(c, "CHATHISTORY", with, text);
}

void
command_history(struct client *c, const struct line *l)
{
	struct slice target = line_param(l, 1);
	struct request r = { .count = HISTORY_MAX };
	unsigned long long limit;
	struct joined *j;

	if (!slice_is(line_param(l, 0), "LATEST")) {
		fail(c, "CHATHISTORY", "INVALID_PARAMS", "This server knows only CHATHISTORY LATEST");
		return;
	}
	if (l->count < 4) {
		history_fail(c, "NEED_MORE_PARAMS", (struct slice){ "", 0 }, "Missing parameters");
		return;
	}
	j = slice_starts(target, "#") ? joined_find(c, target) : NULL;
	if (j == NULL) {
		history_fail(c, "INVALID_TARGET", target.length <= ROOM_MAX ? target : slice_of("*"), "You are not in that channel");
		return;
	}
	if (!parse_point(line_param(l, 2), &r) || !slice_number(line_param(l, 3), UINT32_MAX, &limit)) {
		history_fail(c, "INVALID_PARAMS", target, "Points are *, timestamp=YYYY-MM-DDThh:mm:ss.sssZ or msgid=ID, and the limit is a number");
		return;
	}
	if (limit > 0 && limit < HISTORY_MAX)
		r.count = (unsigned)limit;
	r.folder = c->t->rooms[j->room].path;
	r.name = c->t->rooms[j->room].name;
	r.room = j->room;
	r.end = atomic_load(&j->log.ends->committed);
	ask(c, &r);
}

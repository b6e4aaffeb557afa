/* Old messages: the replay at a join for clients without chathistory, and CHATHISTORY LATEST for
 * the others. */
#include "client.h"

#include "clock.h"
#include "direct.h"
#include "view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HISTORY_MAX = 1000, REQUEST_MAX = PATH_MAX_ROOM + ROOM_MAX + 32 };

/* The lines of a log that are requested. */
struct request {
	const char *folder;
	struct slice name;  /* room, or nick of the other user */
	uint64_t from, end; /* range of offsets */
	uint64_t since;     /* only lines later than this time, in milliseconds */
	unsigned count;     /* only the newest so many */
};

static void
ask(struct client *c, const struct request *r)
{
	struct mail_item item = { .type = MAIL_REPLAY, .room = MAIL_NO_ROOM, .count = r->count, .first = r->from, .end = r->end };
	char text[REQUEST_MAX];
	int n = snprintf(text, sizeof text, "%s %.*s %" PRIu64, r->folder, (int)r->name.length, r->name.at, r->since);

	if (n > 0 && (size_t)n < sizeof text)
		mail_self(c, &item, (struct slice){ text, (size_t)n });
}

void
replay_lines(struct client *c, const char *path, struct slice name, uint64_t from, uint64_t end, unsigned count)
{
	ask(c, &(struct request){ .folder = path, .name = name, .from = from, .end = end, .count = count });
}

void
replay_missed(struct client *c, struct joined *j, uint64_t end)
{
	const struct room *room = &c->t->rooms[j->room];
	struct request r = { .folder = room->path, .name = slice_of(room->name), .end = end, .count = c->o->replay };

	if (c->caps & CAP_CHATHISTORY)
		return;
	r.from = mark_of(c, j->log.id);
	if (r.from < end && r.count > 0)
		ask(c, &r);
}

/* Parses "*", "timestamp=TIME" or "msgid=ROOM-OFFSET". Only lines after that point are
 * requested. */
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

/* Finds the log of a room that the client is in, or of its conversation with an account. */
static bool
find_log(struct client *c, struct slice target, char path[PATH_MAX_ROOM], struct request *r)
{
	struct joined *j = slice_starts(target, "#") ? joined_find(c, target) : NULL;

	r->folder = path;
	r->name = target;
	if (j == NULL)
		return !slice_starts(target, "#") && conversation_find(c, target, path, &r->end);
	snprintf(path, PATH_MAX_ROOM, "%s", c->t->rooms[j->room].path);
	r->name = slice_of(c->t->rooms[j->room].name);
	r->end = atomic_load(&j->log.ends->committed);
	return true;
}

void
command_history(struct client *c, const struct line *l)
{
	struct slice target = line_param(l, 1);
	struct request r = { .count = HISTORY_MAX };
	char path[PATH_MAX_ROOM];
	unsigned long long limit;

	if (!slice_is(line_param(l, 0), "LATEST")) {
		fail(c, "CHATHISTORY", "INVALID_PARAMS", "This server supports only CHATHISTORY LATEST");
		return;
	}
	if (l->count < 4) {
		history_fail(c, "NEED_MORE_PARAMS", (struct slice){ "", 0 }, "Missing parameters");
		return;
	}
	if (!find_log(c, target, path, &r)) {
		history_fail(c, "INVALID_TARGET", target.length <= ROOM_MAX ? target : slice_of("*"), "You are not in that channel, or have no direct messages with that account");
		return;
	}
	if (!parse_point(line_param(l, 2), &r) || !slice_number(line_param(l, 3), UINT32_MAX, &limit)) {
		history_fail(c, "INVALID_PARAMS", target, "Points are *, timestamp=YYYY-MM-DDThh:mm:ss.sssZ or msgid=ID, and the limit is a number");
		return;
	}
	if (limit > 0 && limit < HISTORY_MAX)
		r.count = (unsigned)limit;
	ask(c, &r);
}

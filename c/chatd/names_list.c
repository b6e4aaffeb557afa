/* NAMES, LIST, WHO, MODE. The data is copied under the lock and sent after it is released, except
 * the names of a room that is not large. */
#include "client.h"

#include "state.h"

#include <stdio.h>
#include <string.h>

enum {
	LIST_BYTES = SESSIONS_MAX * (NICK_MAX + 2),
	WORDS_MAX = 400,
	NAMES_NOW_MAX = 3000, /* bytes of names whose replies fit the buffer */
};

static char list[LIST_BYTES]; /* uses memory only as far as it is written */

/* Collects the nicks of a room, with '@' before operators and '+' before members with voice,
 * separated by spaces. */
static struct slice
collect(struct client *c, const struct room *r)
{
	struct buffer b = BUFFER_IN(list);

	for (unsigned i = 0; i < table_sessions(); i++)
		if (room_has(r, i) && room_first(c->t, r, i))
			buffer_format(&b, "%s%.1s%s", b.length > 0 ? " " : "", (char[]){ state_rank(r, slice_of(c->t->sessions[i].account)), '\0' }, c->t->sessions[i].nick);
	return buffer_slice(&b);
}

/* Takes words of together at most WORDS_MAX bytes off the front. */
static struct slice
take_words(struct slice *words)
{
	struct slice front = *words;

	if (front.length > WORDS_MAX) {
		front.length = WORDS_MAX;
		while (front.length > 0 && front.at[front.length] != ' ')
			front.length--;
	}
	*words = slice_between(front.at + front.length, words->at + words->length);
	if (words->length > 0) {
		words->at++;
		words->length--;
	}
	return front;
}

/* Reports whether the client may see the room. The caller holds names. */
static bool
may_see(const struct client *c, const struct room *r)
{
	return !r->direct && (!state_has(r, 's') || room_has(r, c->number));
}

static void
reply_names(struct client *c, const char *name, struct slice nicks)
{
	while (nicks.length > 0) {
		struct slice some = take_words(&nicks);

		numeric(c, 353, "= %s :%.*s", name, (int)some.length, some.at);
	}
	numeric(c, 366, "%s :End of NAMES list", name);
}

/* Other processes mail their JOINs and PARTs under names, so names sent under it, too, are in order
 * with them. A list that is too long for that is sent later, as is one for a full mailbox. */
void
names_of(struct client *c, struct slice room)
{
	char name[ROOM_MAX + 1] = "*";
	struct slice nicks = { "", 0 };
	bool now;
	int i;

	(void)slice_copy(room, name, sizeof name);
	answers_flush(c); /* under names nothing may wait */
	names_take(c->t);
	i = room_find(c->t, room);
	if (i >= 0 && may_see(c, &c->t->rooms[i])) {
		nicks = collect(c, &c->t->rooms[i]);
		snprintf(name, sizeof name, "%.*s", ROOM_MAX, c->t->rooms[i].name);
	}
	now = nicks.length <= NAMES_NOW_MAX;
	if (now) {
		reply_names(c, name, nicks);
		answers_now(c);
	}
	names_release(c->t);
	if (!now)
		reply_names(c, name, nicks);
}

void
command_names(struct client *c, const struct line *l)
{
	names_of(c, line_param(l, 0));
}

void
command_list(struct client *c, const struct line *l)
{
	(void)l;
	for (int i = 0; i < ROOMS_MAX; i++) {
		char name[ROOM_MAX + 1] = "", topic[TOPIC_MAX + 1];
		unsigned members = 0;

		names_take(c->t);
		if (c->t->rooms[i].used && may_see(c, &c->t->rooms[i])) {
			snprintf(name, sizeof name, "%.*s", ROOM_MAX, c->t->rooms[i].name);
			memcpy(topic, c->t->rooms[i].topic, sizeof topic);
			members = room_members(c->t, &c->t->rooms[i]);
		}
		names_release(c->t);
		if (name[0] != '\0')
			numeric(c, 322, "%s %u :%s", name, members, topic);
	}
	numeric(c, 323, ":End of LIST");
}

/* Writes the WHO line of one member. The caller holds names. */
static void
who_line(const struct table *t, const struct room *r, unsigned i, const struct client *c, char *to, size_t capacity)
{
	const struct session *s = &t->sessions[i];
	char rank[] = { 'H', state_rank(r, slice_of(s->account)), '\0' };

	to[0] = '\0';
	if (room_has(r, i) && room_first(t, r, i))
		snprintf(to, capacity, "%s %s %s %s %s %s :0 %s", r->name, s->user, s->host, c->o->name, s->nick, rank, s->nick);
}

void
command_who(struct client *c, const struct line *l)
{
	struct slice mask = line_param(l, 0);
	struct joined *j = joined_find(c, mask);
	char text[LINE_REST_MAX];

	for (unsigned i = 0; i < table_sessions() && j != NULL; i++) {
		names_take(c->t);
		who_line(c->t, &c->t->rooms[j->room], i, c, text, sizeof text);
		names_release(c->t);
		if (text[0] != '\0')
			numeric(c, 352, "%s", text);
	}
	numeric(c, 315, "%.*s :End of WHO list", (int)mask.length, mask.at);
}

static void
tell_bans(struct client *c, const struct room *r)
{
	struct slice rest = slice_of(r->modes);
	struct mode m;

	while (state_next_ban(&rest, &m))
		numeric(c, 367, "%s %.*s %.*s %.*s", r->name, (int)m.parameter.length, m.parameter.at, (int)m.by.length, m.by.at, (int)m.time.length, m.time.at);
	numeric(c, 368, "%s :End of channel ban list", r->name);
}

/* Sends the modes to a member, with the key. */
static void
tell_modes(struct client *c, const struct room *r)
{
	char text[KEY_MAX + FLAGS_MAX + 32];
	struct buffer b = BUFFER_IN(text);

	buffer_format(&b, "+%s%s%s", r->flags, r->key[0] != '\0' ? "k" : "", r->limit > 0 ? "l" : "");
	if (r->key[0] != '\0')
		buffer_format(&b, " %s", r->key);
	if (r->limit > 0)
		buffer_format(&b, " %u", r->limit);
	numeric(c, 324, "%s %.*s", r->name, (int)b.length, text);
}

/* Modes are shown and enforced, but changed only by the server in Go. */
void
command_mode(struct client *c, const struct line *l)
{
	struct slice name = line_param(l, 0), what = line_param(l, 1);
	struct joined *j = slice_starts(name, "#") ? joined_find(c, name) : NULL;

	if (name_same(name, slice_of(c->me->nick)))
		numeric(c, 221, "+");
	else if (j == NULL)
		numeric(c, 442, "%.*s :You're not on that channel", (int)name.length, name.at);
	else if (l->count == 2 && (slice_equal(what, slice_of("b")) || slice_equal(what, slice_of("+b"))))
		tell_bans(c, &c->t->rooms[j->room]);
	else if (l->count > 1)
		numeric(c, 482, "%s :This server does not change modes", c->t->rooms[j->room].name);
	else
		tell_modes(c, &c->t->rooms[j->room]);
}

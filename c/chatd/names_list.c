/* Who and what is there: NAMES, LIST, WHO, MODE. What is asked for is copied under the lock, and said after it. */
#include "client.h"

#include <stdio.h>
#include <string.h>

enum { LIST_BYTES = SESSIONS_MAX * (NICK_MAX + 1), WORDS_MAX = 400 };

static char list[LIST_BYTES]; /* as much of it is in memory as was ever used */

/* Whether no session before i is the same user in the room. Under names. */
static bool
first_of_user(const struct table *t, const struct room *r, unsigned i)
{
	const struct session *s = &t->sessions[i];

	for (unsigned k = 0; k < i && s->account[0] != '\0'; k++)
		if (room_has(r, k) && name_same(slice_of(t->sessions[k].nick), slice_of(s->nick)))
			return false;
	return true;
}

/* The nicks of a room, with '@' before operators, a space between. */
static struct slice
collect(struct client *c, const struct room *r)
{
	struct buffer b = BUFFER_IN(list);

	for (unsigned i = 0; i < table_sessions(); i++)
		if (room_has(r, i) && first_of_user(c->t, r, i))
			buffer_format(&b, "%s%s", b.length > 0 ? " " : "", c->t->sessions[i].nick);
	return buffer_slice(&b);
}

/* Takes words of at most WORDS_MAX bytes together off the front. */
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

void
names_of(struct client *c, struct slice room)
{
	char name[ROOM_MAX + 1] = "*";
	struct slice nicks = { "", 0 };
	int i;

	(void)slice_copy(room, name, sizeof name);
	names_take(c->t);
	i = room_find(c->t, room);
	if (i >= 0 && !c->t->rooms[i].direct) {
		nicks = collect(c, &c->t->rooms[i]);
		snprintf(name, sizeof name, "%.*s", ROOM_MAX, c->t->rooms[i].name);
	}
	names_release(c->t);
	while (nicks.length > 0) {
		struct slice some = take_words(&nicks);

		numeric(c, 353, "= %s :%.*s", name, (int)some.length, some.at);
	}
	numeric(c, 366, "%s :End of NAMES list", name);
}

void
command_names(struct client *c, const struct line *l)
{
	names_of(c, line_param(l, 0));
}

static unsigned
count_members(const struct table *t, const struct room *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < table_sessions(); i++)
		n += room_has(r, i) && first_of_user(t, r, i);
	return n;
}

void
command_list(struct client *c, const struct line *l)
{
	(void)l;
	for (int i = 0; i < ROOMS_MAX; i++) {
		char name[ROOM_MAX + 1] = "", topic[TOPIC_MAX + 1];
		unsigned members = 0;

		names_take(c->t);
		if (c->t->rooms[i].used && !c->t->rooms[i].direct) {
			snprintf(name, sizeof name, "%.*s", ROOM_MAX, c->t->rooms[i].name);
			memcpy(topic, c->t->rooms[i].topic, sizeof topic);
			members = count_members(c->t, &c->t->rooms[i]);
		}
		names_release(c->t);
		if (name[0] != '\0')
			numeric(c, 322, "%s %u :%s", name, members, topic);
	}
	numeric(c, 323, ":End of LIST");
}

/* One member of a room, in the form of a line of WHO. Under names. */
static void
who_line(const struct table *t, const struct room *r, unsigned i, const struct client *c, char *to, size_t room)
{
	const struct session *s = &t->sessions[i];

	to[0] = '\0';
	if (room_has(r, i) && first_of_user(t, r, i))
		snprintf(to, room, "%s %s %s %s %s H :0 %s", r->name, s->user, s->host, c->o->name, s->nick, s->nick);
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

/* Modes are shown, not changed: rooms with modes are made by the server in Go. */
void
command_mode(struct client *c, const struct line *l)
{
	struct slice name = line_param(l, 0);
	struct joined *j = slice_starts(name, "#") ? joined_find(c, name) : NULL;
	struct room *r;
	char modes[8] = "+n";

	if (name_same(name, slice_of(c->me->nick))) {
		numeric(c, 221, "+");
		return;
	}
	if (j == NULL) {
		numeric(c, 442, "%.*s :You're not on that channel", (int)name.length, name.at);
		return;
	}
	if (slice_is(line_param(l, 1), "b") || slice_is(line_param(l, 1), "+b")) {
		numeric(c, 368, "%.*s :End of channel ban list", (int)name.length, name.at);
		return;
	}
	r = &c->t->rooms[j->room];
	if (l->count > 1) {
		numeric(c, 482, "%s :Modes are not changed by this server", r->name);
		return;
	}
	names_take(c->t);
	snprintf(modes, sizeof modes, "+n%s%s%s", r->invited_only ? "i" : "", r->topic_locked ? "t" : "", r->key[0] != '\0' ? "k" : "");
	names_release(c->t);
	numeric(c, 324, "%s %s", r->name, modes);
}

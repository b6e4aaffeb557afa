/* JOIN, PART, TOPIC, and the rooms that a client is in. */
#include "client.h"

#include "clock.h"
#include "report.h"
#include "state.h"
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EVENT_MAX = 1024, ROOMS_OF_CLIENT = MY_ROOMS_MAX - 24 /* the rest: direct conversations */ };

struct joined *
joined_find(struct client *c, struct slice name)
{
	for (int i = 0; i < MY_ROOMS_MAX; i++)
		if (c->joined[i].used && name_same(slice_of(c->t->rooms[c->joined[i].room].name), name))
			return &c->joined[i];
	return NULL;
}

/* Returns a free entry for a room or conversation. For a conversation, one without a pending batch
 * is closed if necessary. */
static struct joined *
joined_free(struct client *c, bool direct)
{
	struct joined *free = NULL, *idle = NULL;
	unsigned rooms = 0;

	for (int i = 0; i < MY_ROOMS_MAX; i++) {
		struct joined *j = &c->joined[i];

		if (!j->used)
			free = j;
		else if (!c->t->rooms[j->room].direct)
			rooms++;
		else if (!j->unmarked && c->batch.to != j)
			idle = j;
	}
	if (!direct)
		return rooms < ROOMS_OF_CLIENT ? free : NULL;
	if (free == NULL && idle != NULL)
		joined_close(idle);
	return free != NULL ? free : idle;
}

struct joined *
joined_open(struct client *c, unsigned room)
{
	struct room *r = &c->t->rooms[room];
	struct joined *j = joined_free(c, r->direct);
	struct log_recovery found;

	if (j == NULL) {
		errno = EMFILE;
		return NULL;
	}
	if (!log_open(&j->log, c->data, r->path, &r->log, false, &found))
		return NULL;
	j->used = true;
	j->unmarked = false;
	j->room = room;
	j->end = 0;
	return j;
}

void
joined_close(struct joined *j)
{
	log_close(&j->log);
	j->used = false;
}

static bool
fill_in(struct room *r, struct slice name, bool direct)
{
	char folder[FOLDER_MAX + 1];

	if (!name_folder(name, folder, sizeof folder) || !slice_copy(name, r->name, sizeof r->name))
		return false;
	snprintf(r->path, sizeof r->path, "%s/%s", direct ? "direct" : "rooms", folder);
	r->direct = direct;
	for (unsigned i = 0; i < SESSIONS_MAX / 32; i++)
		atomic_store(&r->members[i], 0);
	log_shared_reset(&r->log);
	return true;
}

/* Recovers the log of a room that had no member, and reads its state. */
static bool
recover(struct client *c, struct room *r)
{
	struct log_recovery found;
	struct log l;

	if (!log_open(&l, c->data, r->path, &r->log, true, &found)) {
		log_remove_unused(c->data, r->path);
		return false;
	}
	memcpy(r->id, l.id, sizeof r->id);
	log_close(&l);
	if (found.cut + found.bad + found.missing > 0)
		report("%s: recovered the log: cut a torn tail of %llu bytes, skipped %llu damaged lines; %llu bytes are missing",
		    r->path, (unsigned long long)found.cut, (unsigned long long)found.bad, (unsigned long long)found.missing);
	state_read(c->data, c->o->name, r);
	return true;
}

/* Reports whether a name is the former name of a room. Its link leads to the folder of the renamed
 * room: following it would open a second room on the same log. */
static bool
renamed(const struct client *c, const struct room *r)
{
	int fd = openat(c->data, r->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno != ENOENT;
	close(fd);
	return false;
}

int
room_open(struct client *c, struct slice name, bool direct)
{
	int i = room_find(c->t, name);
	struct room *r;

	if (i >= 0)
		return i;
	for (i = 0; i < ROOMS_MAX && c->t->rooms[i].used; i++)
		continue;
	if (i == ROOMS_MAX) {
		errno = ENFILE;
		return -1;
	}
	r = &c->t->rooms[i];
	if (!fill_in(r, name, direct)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (renamed(c, r)) {
		errno = ENOTDIR;
		return -1;
	}
	if (!recover(c, r)) {
		report("cannot open %s: %s", r->path, strerror(errno));
		return -1;
	}
	r->used = true;
	return i;
}

/* Sends ":NICK!USER@HOST what" to all members of the room but the client itself. The caller holds
 * names. */
static void
mail_members(struct client *c, unsigned room, uint64_t after, const char *what)
{
	char text[EVENT_MAX], time[CLOCK_TEXT + 1];
	int n;

	clock_text(clock_now(), time);
	n = snprintf(text, sizeof text, "time=%s :%s!%s@%s %s\r\n", time, c->me->nick, c->me->user, c->me->host, what);
	if (n < 0 || (size_t)n >= sizeof text)
		return;
	for (unsigned i = 0; i < table_sessions(); i++)
		if (i != c->number && room_has(&c->t->rooms[room], i))
			session_mail(c->t, i, &(struct mail_item){ .type = MAIL_LINE, .room = (uint16_t)room, .end = after }, (struct slice){ text, (size_t)n });
}

/* Returns the numeric that refuses a join; 0: it is allowed. The caller holds names. */
static int
refusal(const struct client *c, const struct room *r, struct slice key, const char **why)
{
	char source[SOURCE_MAX + 1];

	snprintf(source, sizeof source, "%s!%s@%s", c->me->nick, c->me->user, c->me->host);
	*why = "";
	if (state_rank(r, slice_of(c->me->account)) == '@')
		return 0;
	if (state_banned(r, slice_of(source))) {
		*why = "Cannot join channel (+b): you are banned";
		return 474;
	}
	if (state_has(r, 'i')) {
		*why = "Cannot join channel (+i): you need an invite";
		return 473;
	}
	if (r->key[0] != '\0' && !slice_equal(key, slice_of(r->key))) {
		*why = "Cannot join channel (+k): wrong key";
		return 475;
	}
	if (r->limit > 0 && !nick_elsewhere(c->t, r, c->number) && room_members(c->t, r) >= r->limit) {
		*why = "Cannot join channel (+l): it is full";
		return 471;
	}
	return 0;
}

/* Adds the client to a room: what is committed from *start on will be sent to it, and the members
 * receive its JOIN. */
static struct joined *
enter(struct client *c, struct slice name, struct slice key, uint64_t *start, int *refused, const char **why)
{
	struct joined *j = NULL;
	char what[EVENT_MAX];
	struct room *r;
	int i;

	names_take(c->t);
	i = room_open(c, name, false);
	*refused = i < 0 ? 403 : refusal(c, &c->t->rooms[i], key, why);
	if (*refused == 0)
		j = joined_open(c, (unsigned)i);
	if (j != NULL) {
		r = &c->t->rooms[i];
		*start = atomic_load(&j->log.ends->committed);
		room_add(c->t, (unsigned)i, c->number);
		snprintf(what, sizeof what, "JOIN %s", r->name);
		if (!nick_elsewhere(c->t, r, c->number))
			mail_members(c, (unsigned)i, *start, what);
	}
	if (i >= 0 && room_empty(&c->t->rooms[i]))
		c->t->rooms[i].used = false;
	names_release(c->t);
	return j;
}

static void
tell_topic(struct client *c, const struct room *r, bool none_too)
{
	char name[ROOM_MAX + 1], topic[TOPIC_MAX + 1], by[SOURCE_MAX + 1];
	uint64_t at;

	names_take(c->t);
	snprintf(name, sizeof name, "%.*s", ROOM_MAX, r->name);
	memcpy(topic, r->topic, sizeof topic);
	memcpy(by, r->topic_by, sizeof by);
	at = r->topic_at;
	names_release(c->t);
	if (topic[0] != '\0') {
		numeric(c, 332, "%s :%s", name, topic);
		numeric(c, 333, "%s %s %" PRIu64, name, by, at);
	} else if (none_too) {
		numeric(c, 331, "%s :No topic is set", name);
	}
}

static void
join(struct client *c, struct slice name, struct slice key)
{
	const char *why = "";
	uint64_t start;
	int refused;
	struct joined *j;
	const struct room *r;

	if (joined_find(c, name) != NULL)
		return;
	if (!name_is_room(name)) {
		numeric(c, 403, "%.*s :No such channel: a name starts with # and has no space, comma or wildcard", (int)name.length, name.at);
		return;
	}
	j = enter(c, name, key, &start, &refused, &why);
	if (j == NULL && refused != 0 && refused != 403) {
		numeric(c, refused, "%.*s :%s", (int)name.length, name.at, why);
		return;
	}
	if (j == NULL) {
		numeric(c, 405, "%.*s :You have joined too many channels, or the server has too many, or the disk refuses", (int)name.length, name.at);
		return;
	}
	r = &c->t->rooms[j->room];
	answer(c, ":%s!%s@%s JOIN %s", c->me->nick, c->me->user, c->me->host, r->name);
	tell_topic(c, r, false);
	replay_missed(c, j, start);
	/* after the replay: otherwise messages meanwhile would precede it, and would count as sent if
	 * the replay is not */
	mail_self(c, &(struct mail_item){ .type = MAIL_FOLLOW, .room = (uint16_t)j->room, .end = start }, slice_of(r->path));
	names_of(c, slice_of(r->name));
}

void
command_join(struct client *c, const struct line *l)
{
	struct slice names = line_param(l, 0), keys = line_param(l, 1);

	if (names.length == 0) {
		numeric(c, 461, "JOIN :Not enough parameters");
		return;
	}
	if (slice_equal(names, slice_of("0"))) {
		for (int i = 0; i < MY_ROOMS_MAX; i++)
			if (c->joined[i].used && !c->t->rooms[c->joined[i].room].direct)
				part(c, &c->joined[i], (struct slice){ "", 0 });
		return;
	}
	while (names.length > 0)
		join(c, slice_cut(&names, ','), slice_cut(&keys, ','));
}

void
part(struct client *c, struct joined *j, struct slice reason)
{
	struct room *r = &c->t->rooms[j->room];
	char what[EVENT_MAX];
	bool others;

	snprintf(what, sizeof what, reason.length > 0 ? "PART %s :%.*s" : "PART %s", r->name, (int)reason.length, reason.at);
	answer(c, ":%s!%s@%s %s", c->me->nick, c->me->user, c->me->host, what);
	mail_self(c, &(struct mail_item){ .type = MAIL_LEAVE, .room = (uint16_t)j->room }, (struct slice){ "", 0 });
	wait_for_send(c); /* before another room can get the number */
	mark_left(c, j);
	log_cut_refused(&j->log); /* before another client can open the room again */
	names_take(c->t);
	room_set(r, c->number, false);
	others = nick_elsewhere(c->t, r, c->number);
	if (!others)
		mail_members(c, j->room, atomic_load(&j->log.ends->committed), what);
	if (room_empty(r))
		r->used = false;
	names_release(c->t);
	joined_close(j);
}

void
command_part(struct client *c, const struct line *l)
{
	struct slice names = line_param(l, 0);

	if (names.length == 0)
		numeric(c, 461, "PART :Not enough parameters");
	while (names.length > 0) {
		struct slice name = slice_cut(&names, ',');
		struct joined *j = joined_find(c, name);

		if (j != NULL && slice_starts(name, "#"))
			part(c, j, line_param(l, 1));
		else
			numeric(c, 442, "%.*s :You're not on that channel", (int)name.length, name.at);
	}
}

/* Sends the client the failure of a topic: docs/protocol.md, "state and metadata". */
static void
topic_refused(struct client *c, const struct room *r, const char *why)
{
	answer(c, ":%s FAIL TOPIC TEMPORARILY_UNAVAILABLE %s :It was not stored, and stays as it is: %s", c->o->name, r->name, why);
}

/* Returns the room's topic. The caller holds topics, so it cannot change. */
static struct topic
topic_of(const struct room *r)
{
	return (struct topic){ r->topic, r->topic_by, r->topic_at };
}

/*
 * Stores a topic in the room's state, then in its log, and only then in the table. If the log
 * refuses it, the state gets the old topic back. The caller holds topics.
 */
static void
store_and_hold(struct client *c, struct joined *j, struct slice text)
{
	char topic[TOPIC_MAX + 1], by[SOURCE_MAX + 1];
	struct room *r = &c->t->rooms[j->room];
	struct topic now = { topic, by, clock_now() / 1000 }, before = topic_of(r);
	const char *why;

	(void)slice_copy(text, topic, sizeof topic);
	snprintf(by, sizeof by, "%s!%s@%s", c->me->nick, c->me->user, c->me->host);
	if (!state_write(c->data, c->o->name, r, &now)) {
		why = strerror(errno);
		report("cannot write %s/state: %s", r->path, why);
		topic_refused(c, r, why);
		/* the file may be replaced although its folder was not synced */
		(void)state_write(c->data, c->o->name, r, &before);
		return;
	}
	if (!store_topic(c, j, text)) {
		topic_refused(c, r, "the log does not take it");
		if (!state_write(c->data, c->o->name, r, &before))
			report("%s/state has a topic that is missing in its log: %s", r->path, strerror(errno));
		return;
	}
	names_take(c->t);
	memcpy(r->topic, topic, sizeof topic);
	memcpy(r->topic_by, by, sizeof by);
	r->topic_at = now.at;
	names_release(c->t);
}

/*
 * Sets the topic. The client waits for its own output before it takes the lock: a client that does
 * not read must not hold it.
 */
static void
set_topic(struct client *c, struct joined *j, struct slice text)
{
	batch_flush(c);
	answers_flush(c);
	make_room(c);
	(void)lock_take(&c->t->topics);
	store_and_hold(c, j, text);
	lock_release(&c->t->topics);
}

void
command_topic(struct client *c, const struct line *l)
{
	struct slice name = line_param(l, 0), text = line_param(l, 1);
	struct joined *j = slice_starts(name, "#") ? joined_find(c, name) : NULL;
	struct room *r;

	if (j == NULL) {
		numeric(c, 442, "%.*s :You're not on that channel", (int)name.length, name.at);
		return;
	}
	r = &c->t->rooms[j->room];
	if (l->count < 2) {
		tell_topic(c, r, true);
		return;
	}
	if (text.length > TOPIC_MAX) {
		text.length = TOPIC_MAX;
		while (text.length > 0 && ((unsigned char)text.at[text.length] & 0xC0) == 0x80)
			text.length--;
	}
	if (state_has(r, 't') && !state_operator(r, slice_of(c->me->account))) {
		numeric(c, 482, "%s :You're not channel operator", r->name);
		return;
	}
	set_topic(c, j, text);
}

/*
 * PRIVMSG, NOTICE, TAGMSG. Messages are collected while the input has more for the same room. Then
 * they are appended to its log together, and all members are woken when they are on disk.
 */
#include "client.h"

#include "account.h"
#include "clock.h"
#include "direct.h"
#include "report.h"
#include "state.h"
#include "view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TARGETS_MAX = 4, EVENT_MAX = MAIL_TEXT_MAX - 64 };

/* A message before it is stored. */
struct message {
	const char *command;
	struct slice tags; /* tags to be stored */
	struct slice text;
	bool has_text;     /* false: a TAGMSG */
	bool quiet;        /* a NOTICE: it gets no error replies (RFC 2812, section 3.3.2) */
};

/* Collects the tags to be stored: the account, and the client-only tags as they were sent. */
static void
keep_tags(const struct client *c, struct slice sent, struct buffer *b)
{
	if (c->me->account[0] != '\0')
		buffer_format(b, "account=%s", c->me->account);
	while (sent.length > 0) {
		struct slice tag = slice_cut(&sent, ';');

		if (!slice_starts(tag, "+") || tag.length < 2)
			continue;
		if (b->length > 0)
			buffer_text(b, ";");
		buffer_add(b, tag);
	}
}

/* Notifies SEND of own lines, which it leaves out. The mail has room: see batch_flush. */
static void
note_own(void *context, uint64_t first, uint64_t end)
{
	struct client *c = context;
	struct mail_item own = { .type = MAIL_OWN, .room = (uint16_t)c->batch.to->room, .first = first, .end = end };

	if (!(c->caps & CAP_ECHO_MESSAGE) && !c->show_own)
		(void)mail_write(c->mail, &own, (struct slice){ "", 0 }, MAIL_BYTES);
}

/* Waits until the client's own mail has room for note_own. Other processes may use only MAIL_OTHERS
 * of it. */
void
make_room(struct client *c)
{
	for (;;) {
		uint64_t read = mail_read(c->mail);

		if (mail_has_room(c->mail, 0, MAIL_BYTES - 3 * sizeof(struct mail_item)) || atomic_load(&c->me->closing) || atomic_load(&c->t->stop))
			return;
		session_wake(c->me);
		mail_wait(c->mail, read);
	}
}

static void
not_stored(struct client *c, const char *why)
{
	if (c->show_own) { /* a topic: store_topic sends it */
		report("a topic was not stored: %s", why);
		return;
	}
	for (size_t i = 0; i < c->batch.count; i++)
		numeric(c, 404, "%s :Not stored, and not delivered: %s", c->batch.target, why);
}

/* Writes the batch. Returns true when it is on disk. */
static bool
store(struct client *c)
{
	struct joined *j = c->batch.to;
	static char scratch[BATCH_BYTES];
	struct log_batch b = {
		.entries = c->batch.entries, .count = c->batch.count, .now_ms = clock_now(),
		.scratch = scratch, .capacity = sizeof scratch, .written = note_own, .context = c,
	};
	uint64_t first, end;

	if (!log_append(&j->log, &b, &first, &end)) {
		not_stored(c, strerror(errno));
		return false;
	}
	switch (log_commit(&j->log, end)) {
	case LOG_LOST:
		not_stored(c, "the disk refuses");
		return false;
	case LOG_COMMITTED_US:
		room_wake(c->t, &c->t->rooms[j->room]);
		break;
	case LOG_COMMITTED: break;
	}
	j->end = end;
	j->unmarked = true;
	return true;
}

static bool
flush(struct client *c)
{
	bool fine = true;

	if (c->batch.to != NULL) {
		make_room(c);
		fine = store(c);
	}
	c->batch.to = NULL;
	c->batch.count = 0;
	c->batch.text = BUFFER_IN(c->batch.bytes);
	return fine;
}

void
batch_flush(struct client *c)
{
	(void)flush(c);
}

static void
refuse(struct client *c, const struct message *m, int number, struct slice target, const char *why)
{
	batch_flush(c); /* replies keep the order of commands */
	if (!m->quiet)
		numeric(c, number, "%.*s :%s", (int)target.length, target.at, why);
}

/* Adds ":SOURCE COMMAND TARGET[ :TEXT]" to the batch. Returns false if it has no room. */
static bool
add(struct client *c, const struct message *m, const char *target)
{
	struct buffer *b = &c->batch.text;
	struct entry *e = &c->batch.entries[c->batch.count];
	struct buffer before = *b;

	e->tags = (struct slice){ b->at + b->length, m->tags.length };
	buffer_add(b, m->tags);
	e->body.at = b->at + b->length;
	buffer_format(b, ":%s!%s@%s %s %s", c->me->nick, c->me->user, c->me->host, m->command, target);
	if (m->has_text) {
		buffer_text(b, " :");
		buffer_add(b, m->text);
	}
	e->body.length = (size_t)(b->at + b->length - e->body.at);
	if (b->full) {
		*b = before;
		return false;
	}
	c->batch.count++;
	return true;
}

static void
put(struct client *c, struct joined *j, const struct message *m, const char *target)
{
	if (c->batch.to != j || c->batch.count == BATCH_MAX)
		batch_flush(c);
	c->batch.to = j;
	snprintf(c->batch.target, sizeof c->batch.target, "%s", target);
	if (add(c, m, target))
		return;
	batch_flush(c);
	c->batch.to = j;
	if (!add(c, m, target))
		refuse(c, m, 417, slice_of(target), "Input line was too long");
}

/* Sends a message that is not stored to the sessions that are there now. The caller holds names. */
static void
relay(struct client *c, const struct message *m, unsigned to, const char *target)
{
	char text[EVENT_MAX], time[CLOCK_TEXT + 1];
	struct buffer b = BUFFER_IN(text);
	struct mail_item item = { .type = MAIL_LINE, .room = MAIL_NO_ROOM };

	clock_text(clock_now(), time);
	buffer_format(&b, "time=%s%s%.*s :%s!%s@%s %s %s", time, m->tags.length > 0 ? ";" : "", (int)m->tags.length, m->tags.at,
	    c->me->nick, c->me->user, c->me->host, m->command, target);
	if (m->has_text) {
		buffer_text(&b, " :");
		buffer_add(&b, m->text);
	}
	buffer_text(&b, "\r\n");
	if (!b.full)
		session_mail(c->t, to, &item, buffer_slice(&b));
}

static void
relay_to_room(struct client *c, const struct message *m, const struct joined *j)
{
	struct room *r = &c->t->rooms[j->room];

	batch_flush(c);
	names_take(c->t);
	for (unsigned i = 0; i < table_sessions(); i++)
		if (room_has(r, i) && (i != c->number || (c->caps & CAP_ECHO_MESSAGE)) && (atomic_load(&c->t->sessions[i].caps) & CAP_MESSAGE_TAGS))
			relay(c, m, i, r->name);
	names_release(c->t);
}

/* Reports whether a message is stored. Of messages without a text only reactions are. */
static bool
is_kept(const struct message *m)
{
	struct slice tags = m->tags;

	while (!m->has_text && tags.length > 0)
		if (slice_starts(slice_cut(&tags, ';'), "+draft/react"))
			return true;
	return m->has_text;
}

/* Returns why the client may not send to a room that it is in; NULL: it may. */
static const char *
may_not_speak(const struct client *c, const struct message *m, const struct room *r)
{
	char source[SOURCE_MAX + 1];

	if (!r->banning && !state_has(r, 'm') && !state_has(r, 'C'))
		return NULL;
	if (state_rank(r, slice_of(c->me->account)) != '\0')
		return NULL;
	if (state_has(r, 'm') && r->ranked)
		return "Cannot send to channel (+m): it is moderated";
	snprintf(source, sizeof source, "%s!%s@%s", c->me->nick, c->me->user, c->me->host);
	if (state_banned(r, slice_of(source)))
		return "Cannot send to channel (+b): you are banned";
	if (state_has(r, 'C') && m->text.length > 1 && slice_starts(m->text, "\001") && !slice_starts(m->text, "\001ACTION "))
		return "Cannot send to channel (+C): no CTCP";
	return NULL;
}

static void
to_room(struct client *c, const struct message *m, struct slice target)
{
	struct joined *j = joined_find(c, target);
	const char *why = j == NULL ? "Cannot send to channel: you are not in it" : may_not_speak(c, m, &c->t->rooms[j->room]);

	if (why != NULL)
		refuse(c, m, 404, target, why);
	else if (is_kept(m))
		put(c, j, m, c->t->rooms[j->room].name);
	else
		relay_to_room(c, m, j);
}

/* Finds the user with a nick: its account, "" for none. Returns false if there is none. */
static bool
find_nick(struct client *c, struct slice target, char nick[NICK_MAX + 1], char account[NICK_MAX + 1])
{
	bool found = false;

	names_take(c->t);
	for (unsigned i = 0; i < table_sessions() && !found; i++) {
		const struct session *s = &c->t->sessions[i];

		found = s->registered && !s->left && name_same(slice_of(s->nick), target);
		if (found) {
			memcpy(nick, s->nick, sizeof s->nick);
			memcpy(account, s->account, sizeof s->account);
		}
	}
	names_release(c->t);
	return found;
}

/* Sends a message to or from a user without an account, which is not stored. */
static void
relay_to_nick(struct client *c, const struct message *m, const char *nick)
{
	batch_flush(c);
	names_take(c->t);
	for (unsigned i = 0; i < table_sessions(); i++) {
		const struct session *s = &c->t->sessions[i];
		bool to = s->registered && !s->left && name_same(slice_of(s->nick), slice_of(nick));
		bool tags = atomic_load(&c->t->sessions[i].caps) & CAP_MESSAGE_TAGS;

		if ((to || (i == c->number && (c->caps & CAP_ECHO_MESSAGE))) && (m->has_text || tags))
			relay(c, m, i, nick);
	}
	names_release(c->t);
}

/* Finds the user with a nick, or else the account of that name, whose messages wait in the log. */
static bool
find_account(struct client *c, const struct message *m, struct slice target, char nick[NICK_MAX + 1], char account[NICK_MAX + 1])
{
	struct account a;

	if (find_nick(c, target, nick, account))
		return true;
	if (c->me->account[0] == '\0' || !is_kept(m) || !name_is_nick(target) || !account_find(c->data, target, &a))
		return false;
	memcpy(nick, a.name, sizeof a.name);
	memcpy(account, a.name, sizeof a.name);
	return true;
}

static void
to_nick(struct client *c, const struct message *m, struct slice target)
{
	char nick[NICK_MAX + 1], account[NICK_MAX + 1];
	struct joined *j;

	if (!find_account(c, m, target, nick, account)) {
		refuse(c, m, 401, target, "No such nick");
		return;
	}
	if (account[0] == '\0' || c->me->account[0] == '\0' || !is_kept(m)) {
		relay_to_nick(c, m, nick);
		return;
	}
	j = conversation(c, account);
	if (j == NULL)
		refuse(c, m, 404, target, "Cannot send: you have too many conversations, or the disk refuses");
	else
		put(c, j, m, nick);
}

void
command_message(struct client *c, const struct line *l)
{
	char bytes[LINE_TAGS_MAX + NICK_MAX + 16];
	struct buffer tags = BUFFER_IN(bytes);
	struct slice targets = line_param(l, 0);
	struct message m = { .has_text = !slice_is(l->command, "TAGMSG"), .quiet = !slice_is(l->command, "PRIVMSG"), .text = line_param(l, 1) };

	m.command = slice_is(l->command, "PRIVMSG") ? "PRIVMSG" : m.has_text ? "NOTICE" : "TAGMSG";
	if (targets.length == 0 || (m.has_text && m.text.length == 0)) {
		if (!m.quiet)
			numeric(c, targets.length == 0 ? 411 : 412, targets.length == 0 ? ":No recipient given (PRIVMSG)" : ":No text to send");
		return;
	}
	keep_tags(c, l->tags, &tags);
	m.tags = buffer_slice(&tags);
	for (int i = 0; targets.length > 0 && i < TARGETS_MAX; i++) {
		struct slice target = slice_cut(&targets, ',');

		if (slice_starts(target, "#"))
			to_room(c, &m, target);
		else if (target.length > 0)
			to_nick(c, &m, target);
	}
}

bool
store_topic(struct client *c, struct joined *j, struct slice text)
{
	struct message m = { .command = "TOPIC", .text = text, .has_text = true };
	char bytes[NICK_MAX + 16];
	struct buffer tags = BUFFER_IN(bytes);
	bool stored;

	batch_flush(c);
	keep_tags(c, (struct slice){ "", 0 }, &tags);
	m.tags = buffer_slice(&tags);
	c->show_own = true;
	put(c, j, &m, c->t->rooms[j->room].name);
	stored = flush(c);
	c->show_own = false;
	return stored;
}

/* Registration: capabilities, nick, login, welcome. */
#include "client.h"

#include "account.h"
#include "ban.h"
#include "clock.h"
#include "direct.h"
#include "view.h"

#include <stdio.h>
#include <string.h>

static const struct { const char *name; unsigned bit; } capabilities[] = {
	{ "message-tags", CAP_MESSAGE_TAGS }, { "server-time", CAP_SERVER_TIME }, { "echo-message", CAP_ECHO_MESSAGE },
	{ "sasl", CAP_SASL }, { "batch", CAP_BATCH }, { "draft/chathistory", CAP_CHATHISTORY }, { "account-tag", CAP_ACCOUNT_TAG },
};

enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities, HISTORY_LIMIT = 1000 };

static void
list_caps(struct client *c, const char *what, unsigned set, bool values)
{
	char text[LINE_REST_MAX];
	struct buffer b = BUFFER_IN(text);

	for (int i = 0; i < CAPABILITIES; i++) {
		if (!(set & capabilities[i].bit))
			continue;
		buffer_format(&b, "%s%s", b.length > 0 ? " " : "", capabilities[i].name);
		if (values && capabilities[i].bit == CAP_SASL)
			buffer_text(&b, plain_allowed(c) ? "=PLAIN,SCRAM-SHA-256" : "=SCRAM-SHA-256");
	}
	answer(c, ":%s CAP %s %s :%.*s", c->o->name, c->me->nick[0] != '\0' ? c->me->nick : "*", what, (int)b.length, text);
}

static bool
request(unsigned *set, struct slice names)
{
	while (names.length > 0) {
		struct slice name = slice_cut(&names, ' ');
		bool off = slice_starts(name, "-");
		int i;

		if (name.length == 0)
			continue;
		name.at += off;
		name.length -= off;
		for (i = 0; i < CAPABILITIES && !slice_equal(name, slice_of(capabilities[i].name)); i++)
			continue;
		if (i == CAPABILITIES)
			return false;
		*set = off ? *set & ~capabilities[i].bit : *set | capabilities[i].bit;
	}
	return true;
}

static void
cap_req(struct client *c, struct slice names)
{
	unsigned set = c->caps;
	bool fine = request(&set, names);

	answer(c, ":%s CAP %s %s :%.*s", c->o->name, c->me->nick[0] != '\0' ? c->me->nick : "*", fine ? "ACK" : "NAK", (int)names.length, names.at);
	if (!fine)
		return;
	answers_flush(c); /* earlier replies use the earlier capabilities */
	c->caps = set;
	atomic_store(&c->me->caps, set);
}

void
command_cap(struct client *c, const struct line *l)
{
	struct slice what = line_param(l, 0);
	unsigned long long version = 0;

	if (slice_is(what, "LS")) {
		c->negotiating = !c->registered;
		list_caps(c, "LS", ~0u, slice_number(line_param(l, 1), 100000, &version) && version >= 302);
	} else if (slice_is(what, "LIST")) {
		list_caps(c, "LIST", c->caps, false);
	} else if (slice_is(what, "REQ")) {
		c->negotiating = !c->registered;
		cap_req(c, line_param(l, 1));
	} else if (slice_is(what, "END")) {
		c->negotiating = false;
		try_register(c);
	} else {
		numeric(c, 410, "%.*s :Invalid CAP command", (int)what.length, what.at);
	}
}

/* Reports whether the nick is free, or used only by sessions of the same account. The caller holds
 * names. */
static bool
nick_free(const struct client *c, struct slice nick)
{
	const struct session *me = c->me;

	for (unsigned i = 0; i < table_sessions(); i++) {
		const struct session *s = &c->t->sessions[i];
		bool mine = me->account[0] != '\0' && name_same(slice_of(s->account), slice_of(me->account));

		if (i != c->number && s->registered && !s->left && !mine && name_same(slice_of(s->nick), nick))
			return false;
	}
	return true;
}

/* Reports whether the nick is the name of an account that the client has not logged in to. */
static bool
reserved(const struct client *c, struct slice nick)
{
	struct account a;

	return account_find(c->data, nick, &a) && !name_same(slice_of(a.name), slice_of(c->me->account));
}

static bool
shares_a_room(const struct client *c, unsigned session)
{
	for (int k = 0; k < MY_ROOMS_MAX; k++)
		if (c->joined[k].used && room_has(&c->t->rooms[c->joined[k].room], session))
			return true;
	return false;
}

/* Takes the nick if it is free, and notifies all members of the client's rooms. */
static bool
change_nick(struct client *c, struct slice nick)
{
	char text[512], time[CLOCK_TEXT + 1];
	bool free;
	int n;

	clock_text(clock_now(), time);
	names_take(c->t);
	n = snprintf(text, sizeof text, "time=%s :%s!%s@%s NICK %.*s\r\n", time, c->me->nick, c->me->user, c->me->host, (int)nick.length, nick.at);
	free = n > 0 && nick_free(c, nick);
	for (unsigned i = 0; i < table_sessions() && free; i++)
		if (i != c->number && shares_a_room(c, i))
			session_mail(c->t, i, &(struct mail_item){ .type = MAIL_LINE, .room = MAIL_NO_ROOM }, (struct slice){ text, (size_t)n });
	if (free)
		slice_copy(nick, c->me->nick, sizeof c->me->nick);
	names_release(c->t);
	if (free)
		answer(c, "%.*s", n - 2 - (int)(strchr(text, ' ') + 1 - text), strchr(text, ' ') + 1);
	return free;
}

/* Reports whether a ban matches the client with this nick, and its reason. */
static bool
banned_as(const struct client *c, struct slice nick, char reason[BAN_REASON_MAX + 1])
{
	char source[SOURCE_MAX + 1];
	struct ban_client who = { slice_of(c->me->account), slice_of(c->me->address), { source, 0 } };

	who.mask.length = (size_t)snprintf(source, sizeof source, "%.*s!%s@%s", (int)nick.length, nick.at, c->me->user, c->me->host);
	return ban_find(c->data, &who, clock_now(), reason);
}

static void
nick_taken(struct client *c, struct slice nick)
{
	numeric(c, 433, "%.*s :Nickname is in use, or belongs to another account", (int)nick.length, nick.at);
}

/* Before registration a nick is only stored: after a login the client may share it with another
 * session of its account. */
void
command_nick(struct client *c, const struct line *l)
{
	struct slice nick = line_param(l, 0);
	char reason[BAN_REASON_MAX + 1];

	if (nick.length == 0) {
		numeric(c, 431, ":No nickname given");
	} else if (!name_is_nick(nick)) {
		numeric(c, 432, "* :A nickname has at most %d letters, digits and -_[]{}\\|`^, the first not a digit or -", NICK_MAX);
	} else if (!c->registered) {
		slice_copy(nick, c->wanted, sizeof c->wanted);
		try_register(c);
	} else if (banned_as(c, nick, reason)) {
		numeric(c, 432, "%.*s :This nickname is banned", (int)nick.length, nick.at);
	} else if (!slice_equal(nick, slice_of(c->me->nick)) && (reserved(c, nick) || !change_nick(c, nick))) {
		nick_taken(c, nick);
	}
}

void
command_user(struct client *c, const struct line *l)
{
	char user[USER_MAX + 1];

	if (c->registered) {
		numeric(c, 462, ":You may not reregister");
		return;
	}
	if (l->count < 4) {
		numeric(c, 461, "USER :Not enough parameters");
		return;
	}
	name_clean_user(line_param(l, 0), user);
	snprintf(c->me->user, sizeof c->me->user, "~%s", user); /* the user name is not verified */
	try_register(c);
}

void
command_pass(struct client *c, const struct line *l)
{
	if (c->registered)
		numeric(c, 462, ":You may not reregister");
	else if (!slice_copy(line_param(l, 0), c->pass, sizeof c->pass) || c->pass[0] == '\0')
		numeric(c, 461, "PASS :Not enough parameters");
}

/* Checks PASS account:password, or account@device:password. Returns true if there was none, or it
 * was right. */
static bool
check_pass(struct client *c)
{
	struct slice password = slice_of(c->pass), login;
	bool fine;

	if (c->pass[0] == '\0' || c->me->account[0] != '\0')
		return true;
	if (!plain_allowed(c)) {
		numeric(c, 464, ":Passwords in clear text are not accepted on this connection; use SASL SCRAM-SHA-256");
		return false;
	}
	login = slice_cut(&password, ':');
	fine = log_in_plain(c, login, password);
	memset(c->pass, 0, sizeof c->pass);
	if (!fine && c->wait > 0)
		numeric(c, 464, ":The login was refused: too many attempts, try again in %u s", c->wait);
	else if (!fine)
		numeric(c, 464, ":The name or the password is wrong; PASS takes ACCOUNT:PASSWORD");
	return fine;
}

static void
welcome(struct client *c)
{
	const struct session *me = c->me;

	numeric(c, 1, ":Welcome to %s, %s", c->o->name, me->nick);
	numeric(c, 2, ":Your host is %s, running weir chatd", c->o->name);
	numeric(c, 3, ":Every message is on disk before any client receives it");
	numeric(c, 4, "%s weir-chatd o Cbiklmnostv", c->o->name);
	numeric(c, 5, "CASEMAPPING=ascii CHANLIMIT=#:%d CHANMODES=b,k,l,Cimnst CHANNELLEN=%d CHANTYPES=# CHATHISTORY=%d draft/CHATHISTORY=%d MSGREFTYPES=msgid,timestamp "
	    "NETWORK=%s NICKLEN=%d PREFIX=(ov)@+ TOPICLEN=%d USERLEN=%d UTF8ONLY :are supported by this server",
	    MY_ROOMS_MAX - 24, ROOM_MAX, HISTORY_LIMIT, HISTORY_LIMIT, c->o->name, NICK_MAX, TOPIC_MAX, USER_MAX);
	numeric(c, 422, ":There is no message of the day");
}

/* Takes the stored nick. */
static bool
take_nick(struct client *c)
{
	struct slice nick = slice_of(c->wanted);
	bool free;

	if (reserved(c, nick))
		return false;
	names_take(c->t);
	free = nick_free(c, nick);
	if (free) {
		slice_copy(nick, c->me->nick, sizeof c->me->nick);
		c->me->registered = true;
	}
	if (free && c->me->account[0] != '\0')
		conversations_enter(c);
	names_release(c->t);
	return free;
}

/* Reports whether a ban matches the client with its stored nick, and sends the reason. */
static bool
banned(struct client *c)
{
	char reason[BAN_REASON_MAX + 1];

	if (!banned_as(c, slice_of(c->wanted), reason))
		return false;
	numeric(c, 465, ":You are banned from this server: %s", reason);
	close_client(c, "Banned");
	return true;
}

void
try_register(struct client *c)
{
	if (c->registered || c->negotiating || c->wanted[0] == '\0' || c->me->user[0] == '\0' || c->how != SASL_NONE || c->quitting)
		return;
	if (!check_pass(c)) {
		close_client(c, "not logged in");
	} else if (c->o->accounts_only && c->me->account[0] == '\0') {
		numeric(c, 464, ":This server requires an account: log in with SASL or PASS");
		close_client(c, "not logged in");
	} else if (banned(c)) {
		return;
	} else if (!take_nick(c)) {
		nick_taken(c, slice_of(c->wanted));
		c->wanted[0] = '\0';
	} else {
		c->registered = true;
		welcome(c);
		if (c->me->account[0] != '\0')
			conversations_replay(c);
	}
}

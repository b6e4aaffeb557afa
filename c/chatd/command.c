/* The commands, and the checks before them. */
#include "client.h"

#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	void (*run)(struct client *c, const struct line *l);
	bool early; /* allowed before registration */
};

static void
command_ping(struct client *c, const struct line *l)
{
	struct slice token = line_param(l, 0);

	answer(c, ":%s PONG %s :%.*s", c->o->name, c->o->name, (int)token.length, token.at);
}

static void
command_pong(struct client *c, const struct line *l)
{
	(void)c;
	(void)l; /* the arrival of a line is enough */
}

static void
command_quit(struct client *c, const struct line *l)
{
	struct slice reason = line_param(l, 0);
	char text[LINE_REST_MAX];

	snprintf(text, sizeof text, "Quit: %.*s", (int)reason.length, reason.at);
	(void)slice_copy(slice_of(text), c->reason, sizeof c->reason);
	close_client(c, text);
	c->quit = true;
}

static void
command_motd(struct client *c, const struct line *l)
{
	(void)l;
	numeric(c, 422, ":There is no message of the day");
}

static const struct command commands[] = {
	{ "PRIVMSG", command_message, false },
	{ "NOTICE", command_message, false },
	{ "TAGMSG", command_message, false },
	{ "PING", command_ping, true },
	{ "PONG", command_pong, true },
	{ "CHATHISTORY", command_history, false },
	{ "JOIN", command_join, false },
	{ "PART", command_part, false },
	{ "NAMES", command_names, false },
	{ "TOPIC", command_topic, false },
	{ "LIST", command_list, false },
	{ "WHO", command_who, false },
	{ "MODE", command_mode, false },
	{ "MOTD", command_motd, false },
	{ "CAP", command_cap, true },
	{ "NICK", command_nick, true },
	{ "USER", command_user, true },
	{ "PASS", command_pass, true },
	{ "AUTHENTICATE", command_authenticate, true },
	{ "QUIT", command_quit, true },
};

static const struct command *
find(struct slice name)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (slice_is(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static void
refuse_line(struct client *c, enum line_fault fault)
{
	switch (fault) {
	case LINE_TOO_LONG: numeric(c, 417, ":Input line was too long"); break;
	case LINE_NOT_UTF8: fail(c, "*", "INVALID_UTF8", "The line is not UTF-8 and was ignored"); break;
	case LINE_BAD: fail(c, "*", "INVALID_LINE", "The line contains NUL or CR, or no command, and was ignored"); break;
	case LINE_FINE:
	case LINE_EMPTY: break;
	}
}

void
command_run(struct client *c, struct slice line)
{
	const struct command *what;
	enum line_fault fault;
	struct line l;

	fault = line_parse(line, &l);
	what = fault == LINE_FINE ? find(l.command) : NULL;
	if (what == NULL || what->run != command_message)
		batch_flush(c); /* replies keep the order of commands */
	if (fault != LINE_FINE)
		refuse_line(c, fault);
	else if (what == NULL)
		numeric(c, 421, "%.*s :Unknown command", (int)l.command.length, l.command.at);
	else if (!c->registered && !what->early)
		numeric(c, 451, ":You have not registered");
	else
		what->run(c, &l);
}

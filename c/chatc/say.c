#include "chatc.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 400 }; /* bytes of a message, so that it fits into a line with its source */

static const char help[] =
    "  text             send to the current room or nick\n"
    "  /join #ROOM      join a room\n"
    "  /part [#ROOM]    leave it\n"
    "  /to #ROOM|NICK   send typed lines there from now on\n"
    "  /msg NICK TEXT   send a direct message\n"
    "  /me TEXT         send an action\n"
    "  /topic [TEXT]    show or set the room's topic\n"
    "  /names  /list    list the members of the room; list the rooms\n"
    "  /nick NICK       change the nick\n"
    "  /raw LINE        send a line unchanged\n"
    "  /quit [TEXT]     disconnect\n";

static void
say_text(struct chat *c, const char *target, struct slice text, const char *before, const char *after)
{
	while (text.length > 0 && *target != '\0') {
		size_t n = text.length < TEXT_MAX ? text.length : TEXT_MAX;

		while (n < text.length && n > 1 && ((unsigned char)text.at[n] & 0xC0) == 0x80)
			n--; /* stop at a character boundary */
		wire_say(c, "PRIVMSG %s :%s%.*s%s", target, before, (int)n, text.at, after);
		text.at += n;
		text.length -= n;
	}
	if (*target == '\0')
		printf("* no room joined: /join #ROOM first\n");
}

static void
say_to(struct chat *c, struct slice rest)
{
	char target[CHATC_TARGET];

	if (slice_copy(slice_cut(&rest, ' '), target, sizeof target))
		say_text(c, target, rest, "", "");
}

static void
topic(struct chat *c, struct slice text)
{
	if (text.length > 0)
		wire_say(c, "TOPIC %s :%.*s", c->target, (int)text.length, text.at);
	else
		wire_say(c, "TOPIC %s", c->target);
}

static void
move_to(struct chat *c, struct slice target)
{
	if (target.length == 0 || !slice_copy(target, c->target, sizeof c->target))
		printf("* /to needs a room or a nick\n");
}

static void
run(struct chat *c, struct slice command, struct slice rest)
{
	int n = (int)rest.length;

	if (slice_is(command, "/join"))
		wire_say(c, "JOIN %.*s", n, rest.at);
	else if (slice_is(command, "/part"))
		wire_say(c, "PART %.*s", n > 0 ? n : (int)strlen(c->target), n > 0 ? rest.at : c->target);
	else if (slice_is(command, "/to"))
		move_to(c, rest);
	else if (slice_is(command, "/msg"))
		say_to(c, rest);
	else if (slice_is(command, "/me"))
		say_text(c, c->target, rest, "\001ACTION ", "\001");
	else if (slice_is(command, "/topic"))
		topic(c, rest);
	else if (slice_is(command, "/names"))
		wire_say(c, "NAMES %s", c->target);
	else if (slice_is(command, "/list"))
		wire_say(c, "LIST");
	else if (slice_is(command, "/nick"))
		wire_say(c, "NICK %.*s", n, rest.at);
	else if (slice_is(command, "/raw"))
		wire_say(c, "%.*s", n, rest.at);
	else if (slice_is(command, "/help"))
		fputs(help, stdout);
	else
		printf("* unknown command %.*s; /help lists the commands\n", (int)command.length, command.at);
}

void
say_typed(struct chat *c, struct slice text)
{
	struct slice rest = text, command;

	if (text.length > 0 && text.at[text.length - 1] == '\r')
		text.length--;
	rest = text;
	if (slice_has(text, '\0') || slice_has(text, '\r') || !line_utf8(text)) {
		printf("* not sent: the line is not UTF-8\n");
	} else if (slice_starts(text, "//")) {
		say_text(c, c->target, (struct slice){ text.at + 1, text.length - 1 }, "", "");
	} else if (slice_starts(text, "/")) {
		command = slice_cut(&rest, ' ');
		if (slice_is(command, "/quit")) {
			wire_say(c, "QUIT :%.*s", (int)rest.length, rest.at);
			c->leaving = true;
		} else {
			run(c, command, rest);
		}
	} else {
		say_text(c, c->target, text, "", "");
	}
	fflush(stdout);
}

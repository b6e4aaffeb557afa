#include "chatc.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Prints text with control characters as '?', so that a message cannot move the cursor, ring the
 * bell or imitate others. */
static void
put(struct slice s)
{
	for (size_t i = 0; i < s.length; i++) {
		unsigned char byte = (unsigned char)s.at[i], next = i + 1 < s.length ? (unsigned char)s.at[i + 1] : 0;
		bool control = byte < ' ' || byte == 0x7F || (byte == 0xC2 && next >= 0x80 && next < 0xA0);

		putchar(control ? '?' : s.at[i]);
		i += byte == 0xC2 && control;
	}
}

static struct slice
nick_of(struct slice source)
{
	return slice_cut(&source, '!');
}

/* Prints "12:34" in local time: the server's time if the line has one. */
static void
put_time(struct slice tags)
{
	uint64_t ms = clock_now();
	struct tm local;
	time_t seconds;

	while (tags.length > 0) {
		struct slice tag = slice_cut(&tags, ';');

		if (slice_starts(tag, "time="))
			(void)clock_parse((struct slice){ tag.at + 5, tag.length - 5 }, &ms);
	}
	seconds = (time_t)(ms / 1000);
	if (localtime_r(&seconds, &local) != NULL)
		printf("%02d:%02d ", local.tm_hour, local.tm_min);
}

/* Prints a form: %N is the nick of the source, %0 to %9 the parameters. */
static void
put_form(const struct line *l, const char *form)
{
	put_time(l->tags);
	for (; *form != '\0'; form++) {
		if (*form != '%') {
			putchar(*form);
			continue;
		}
		form++;
		if (*form == 'N')
			put(nick_of(l->source));
		else
			put(line_param(l, (unsigned)(*form - '0')));
	}
	putchar('\n');
}

static const struct { const char *command, *form; } forms[] = {
	{ "NOTICE", "%0 -%N- %1" }, { "JOIN", "* %N has joined %0" }, { "PART", "* %N has left %0 %1" },
	{ "QUIT", "* %N has quit: %0" }, { "NICK", "* %N is now %0" }, { "TOPIC", "* %N has set the topic of %0: %1" },
	{ "ERROR", "* the server says: %0" }, { "FAIL", "* failed: %2 %3 %4" },
	{ "331", "* %1: %2" }, { "332", "* the topic of %1: %2" }, { "353", "* in %2: %3" }, { "322", "* %1: %2 members. %3" },
	{ "401", "* %1: %2" }, { "403", "* %1: %2" }, { "404", "* %1: %2" }, { "405", "* %1: %2" }, { "417", "* %1" },
	{ "421", "* %1: %2" }, { "432", "* %2" }, { "433", "* %1: %2" }, { "442", "* %1: %2" }, { "464", "* %1" },
	{ "473", "* %1: %2" }, { "475", "* %1: %2" }, { "482", "* %1: %2" }, { "900", "* %3" },
};

static void
show_message(const struct line *l)
{
	struct slice text = line_param(l, 1);
	static const char action[] = "\001ACTION ";

	if (!slice_starts(text, action)) {
		put_form(l, "%0 <%N> %1");
		return;
	}
	put_time(l->tags);
	put(line_param(l, 0));
	printf(" * ");
	put(nick_of(l->source));
	putchar(' ');
	text = (struct slice){ text.at + sizeof action - 1, text.length - (sizeof action - 1) };
	if (text.length > 0 && text.at[text.length - 1] == '\001')
		text.length--;
	put(text);
	putchar('\n');
}

static void
welcomed(struct chat *c, const struct line *l)
{
	(void)slice_copy(line_param(l, 0), c->nick, sizeof c->nick);
	c->welcome = true;
	printf("* connected to %s as %s; /help lists the commands\n", c->host, c->nick);
	for (char **room = c->rooms; *room != NULL; room++)
		wire_say(c, "JOIN %s", *room);
}

/* Updates the client's state for a line. */
static void
follow(struct chat *c, const struct line *l)
{
	bool mine = name_same(nick_of(l->source), slice_of(c->nick));

	if (mine && slice_is(l->command, "JOIN"))
		(void)slice_copy(line_param(l, 0), c->target, sizeof c->target);
	if (mine && slice_is(l->command, "NICK"))
		(void)slice_copy(line_param(l, 0), c->nick, sizeof c->nick);
	if (slice_is(l->command, "433") && !c->welcome) {
		fprintf(stderr, "chatc: the nick %s is taken: give another with --nick, or log in with --account\n", c->nick);
		c->failed = true;
	}
}

static void
capabilities(struct chat *c, const struct line *l)
{
	if (slice_is(line_param(l, 1), "ACK"))
		login_begin(c);
	if (slice_is(line_param(l, 1), "NAK")) {
		fprintf(stderr, "chatc: the server lacks a required capability%s\n", c->account != NULL ? " to log in" : "");
		c->failed = true;
	}
}

void
show_line(struct chat *c, const struct line *l)
{
	if (slice_is(l->command, "PING")) {
		wire_say(c, "PONG :%.*s", (int)line_param(l, 0).length, line_param(l, 0).at);
		return;
	}
	if (slice_is(l->command, "CAP")) {
		capabilities(c, l);
		return;
	}
	if (login_take(c, l))
		return;
	follow(c, l);
	if (slice_is(l->command, "001"))
		welcomed(c, l);
	if (slice_is(l->command, "PRIVMSG"))
		show_message(l);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (slice_is(l->command, forms[i].command))
			put_form(l, forms[i].form);
	fflush(stdout);
}

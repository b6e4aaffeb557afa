/*
 * chatc: a line-mode IRC client that needs only the C library. It prints the messages of others and
 * sends typed lines. One's own message is printed when the server has it on disk.
 *
 * Limitations: no TLS, so use it on the server's machine, or through a tunnel; no editing except
 * the terminal's own.
 */
#include "chatc.h"

#include "report.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: chatc [--nick NICK] [--account NAME[@DEVICE] [--password-file FILE]] [HOST[:PORT]] [#ROOM...]\n"
    "\n"
    "Connects to an IRC server (default 127.0.0.1:6667). Lines that you type are sent to the room that\n"
    "you joined last; /help lists the commands.\n"
    "\n"
    "  --nick NICK              nick (default the account's name, or $USER)\n"
    "  --account NAME[@DEVICE]  log in by SCRAM-SHA-256: the password is asked for, and is not sent\n"
    "  --password-file FILE     read the password from the first line of FILE\n"
    "\n"
    "  $ chatc --nick ann chat.example.org '#village'\n"
    "  12:01 #village <bob> hello ann\n"
    "  hello bob\n"
    "  12:02 #village <ann> hello bob\n";

/* Input from which complete lines are taken. */
struct lines {
	size_t length;
	char bytes[CHATC_INPUT];
};

static const char *
value_of(char **args, int *i)
{
	if (args[*i + 1] == NULL)
		usage_error("%s needs a value; see --help", args[*i]);
	return args[++*i];
}

static void
take_nick(struct chat *c, const char *nick)
{
	if (!name_is_nick(slice_of(nick)) || !slice_copy(slice_of(nick), c->nick, sizeof c->nick))
		usage_error("\"%s\" is not a nick: use at most %d letters, digits and -_[]{}\\|`^, the first not a digit or -", nick, NICK_MAX);
}

/* Parses HOST, HOST:PORT or [HOST]:PORT. */
static void
take_server(struct chat *c, char *text)
{
	char *colon = strrchr(text, ':'), *end = strchr(text, ']');

	if (colon != NULL && (end != NULL ? colon > end : strchr(text, ':') == colon)) {
		*colon = '\0';
		c->port = colon + 1;
	}
	if (*text == '[' && end != NULL) {
		*end = '\0';
		text++;
	}
	c->host = text;
}

/* Parses all arguments but the rooms, which stay at the end of args. */
static const char *
parse(struct chat *c, char **args)
{
	const char *password_file = NULL;
	int i;

	for (i = 1; args[i] != NULL && args[i][0] != '#'; i++) {
		if (strcmp(args[i], "--help") == 0) {
			fputs(usage, stdout);
			exit(0);
		}
		if (strcmp(args[i], "--nick") == 0)
			take_nick(c, value_of(args, &i));
		else if (strcmp(args[i], "--account") == 0)
			c->account = value_of(args, &i);
		else if (strcmp(args[i], "--password-file") == 0)
			password_file = value_of(args, &i);
		else if (args[i][0] == '-')
			usage_error("unknown option %s; see --help", args[i]);
		else
			take_server(c, args[i]);
	}
	c->rooms = args + i;
	for (; args[i] != NULL; i++)
		if (!name_is_room(slice_of(args[i])))
			usage_error("\"%s\" is not a room: a room starts with # and has no space or comma; rooms come last", args[i]);
	return password_file;
}

static void
name_by_account(struct chat *c)
{
	struct slice rest = slice_of(c->account), name = slice_cut(&rest, '@');

	if (!name_is_nick(name) || strlen(c->account) > 2 * NICK_MAX)
		usage_error("--account takes NAME or NAME@DEVICE, not \"%s\"", c->account);
	if (c->nick[0] == '\0')
		(void)slice_copy(name, c->nick, sizeof c->nick);
}

static void
greet(struct chat *c)
{
	wire_say(c, "CAP LS 302");
	wire_say(c, "NICK %s", c->nick);
	wire_say(c, "USER %s 0 * :%s", c->nick, c->nick);
	wire_say(c, "CAP REQ :server-time echo-message%s", c->account != NULL ? " sasl" : "");
}

/* Reads once. Returns false at the end or after an error. */
static bool
read_some(int fd, struct lines *in)
{
	ssize_t n = read(fd, in->bytes + in->length, sizeof in->bytes - in->length);

	if (n < 0)
		return errno == EINTR;
	in->length += (size_t)n;
	return n > 0;
}

static void
take_lines(struct chat *c, struct lines *in, bool typed)
{
	struct slice rest = { in->bytes, in->length };

	while (slice_has(rest, '\n') && !c->failed) {
		struct slice text = slice_cut(&rest, '\n');
		struct line l;

		if (typed) {
			say_typed(c, text);
			continue;
		}
		if (text.length > 0 && text.at[text.length - 1] == '\r')
			text.length--;
		if (line_parse_any(text, &l) == LINE_FINE)
			show_line(c, &l);
	}
	memmove(in->bytes, rest.at, rest.length);
	in->length = rest.length < sizeof in->bytes ? rest.length : 0; /* a line that long is invalid */
}

static bool
talk(struct chat *c)
{
	static struct lines from_server, typed;
	struct pollfd ends[2] = { { .fd = c->fd, .events = POLLIN }, { .fd = STDIN_FILENO, .events = POLLIN } };

	while (!c->failed) {
		/* typed lines wait until the client is registered */
		ends[1].fd = c->welcome && !c->leaving ? STDIN_FILENO : -1;
		if (poll(ends, 2, -1) < 0 && errno != EINTR)
			return false;
		if (ends[0].revents != 0) {
			if (!read_some(c->fd, &from_server))
				break;
			take_lines(c, &from_server, false);
		}
		if (ends[1].fd >= 0 && ends[1].revents != 0) {
			bool more = read_some(STDIN_FILENO, &typed);

			take_lines(c, &typed, true);
			if (!more && !c->leaving) {
				wire_say(c, "QUIT");
				c->leaving = true;
			}
		}
	}
	if (!c->leaving && !c->failed)
		fprintf(stderr, "chatc: the connection is lost; start again to be replayed what you missed\n");
	return c->leaving && !c->failed;
}

int
main(int argc, char **argv)
{
	static struct chat c;
	const char *user = getenv("USER"), *file;

	(void)argc;
	setlocale(LC_ALL, "");
	report_as(argv[0]);
	c = (struct chat){ .host = "127.0.0.1", .port = "6667" };
	file = parse(&c, argv);
	if (c.account != NULL)
		name_by_account(&c);
	if (c.nick[0] == '\0')
		take_nick(&c, user != NULL && name_is_nick(slice_of(user)) ? user : "guest");
	if (c.account != NULL && !login_password(file, c.password, sizeof c.password))
		return EXIT_TROUBLE;
	signal(SIGPIPE, SIG_IGN);
	c.fd = wire_connect(c.host, c.port);
	if (c.fd < 0)
		return EXIT_TROUBLE;
	greet(&c);
	return talk(&c) ? 0 : EXIT_TROUBLE;
}

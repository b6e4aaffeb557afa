#include "options.h"

#include "net.h"
#include "report.h"
#include "slice.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: chatd --data DIR [--listen HOST:PORT] [--name NAME] [--user USER] [--daemon]\n"
    "             [--clients N] [--per-host N] [--flood LINES] [--replay LINES]\n"
    "             [--accounts-only] [--plain] [--no-sandbox]\n"
    "\n"
    "An IRC server with two processes for each client. Every message is on disk before any client\n"
    "receives it.\n"
    "\n"
    "  --data DIR          directory of logs and accounts, created if it does not exist\n"
    "  --listen HOST:PORT  numeric address, such as 127.0.0.1:6667, [::1]:6667 or [::]:6667 (default\n"
    "                      127.0.0.1:6667)\n"
    "  --name NAME         server name in replies (default weir)\n"
    "  --user USER         change to this user after the start, if started as root\n"
    "  --daemon            run in the background and report to syslog\n"
    "  --clients N         limit of connections (default 512)\n"
    "  --per-host N        limit of connections from one address, or from a /64 of IPv6; loopback has\n"
    "                      none (default 16)\n"
    "  --flood LINES       lines per second that a client may send, with bursts of four times as many;\n"
    "                      more lines wait; 0: no limit (default 50)\n"
    "  --replay LINES      limit of lines replayed at a join to a client without chathistory (default\n"
    "                      1000)\n"
    "  --accounts-only     accept only clients with an account\n"
    "  --plain             accept passwords in clear text (SASL PLAIN, PASS) from other machines; use it\n"
    "                      only behind TLS\n"
    "  --no-sandbox        do not restrict system calls, for emulators and memory debuggers\n"
    "\n"
    "  $ chatd --data /var/lib/chat --listen '[::]:6667' --user chat --daemon\n"
    "\n"
    "Accounts and bans in DIR are managed by weir chat user; changes take effect at once. SIGTERM and\n"
    "SIGINT stop the server within two seconds, after all input that has arrived is on disk.\n";

static const char *
value_of(char **args, int *i)
{
	if (args[*i + 1] == NULL)
		usage_error("%s needs a value; see --help", args[*i]);
	return args[++*i];
}

static unsigned
number_of(char **args, int *i, unsigned least, unsigned most)
{
	const char *name = args[*i], *text = value_of(args, i);
	unsigned long long n;

	if (!slice_number(slice_of(text), most, &n) || n < least)
		usage_error("%s takes a number from %u to %u, not \"%s\"", name, least, most, text);
	return (unsigned)n;
}

static void
take_address(struct options *o, const char *text)
{
	if (!net_parse(text, o->host, &o->port))
		usage_error("--listen takes HOST:PORT, such as 127.0.0.1:6667 or [::1]:6667, not \"%s\"", text);
}

static void
take_name(struct options *o, const char *text)
{
	struct slice s = slice_of(text);

	if (s.length == 0 || s.length > 63 || *text == ':' || strpbrk(text, " \r\n\t,*?!@#") != NULL)
		usage_error("--name takes at most 63 characters without spaces, such as chat.example.org, not \"%s\"", text);
	o->name = text;
}

static bool
take_switch(struct options *o, const char *arg)
{
	if (strcmp(arg, "--daemon") == 0)
		o->daemon = true;
	else if (strcmp(arg, "--accounts-only") == 0)
		o->accounts_only = true;
	else if (strcmp(arg, "--plain") == 0)
		o->plain = true;
	else if (strcmp(arg, "--no-sandbox") == 0)
		o->sandbox = false;
	else
		return false;
	return true;
}

static bool
take_value(struct options *o, char **args, int *i)
{
	const char *arg = args[*i];

	if (strcmp(arg, "--data") == 0)
		o->data = value_of(args, i);
	else if (strcmp(arg, "--listen") == 0)
		take_address(o, value_of(args, i));
	else if (strcmp(arg, "--name") == 0)
		take_name(o, value_of(args, i));
	else if (strcmp(arg, "--user") == 0)
		o->user = value_of(args, i);
	else if (strcmp(arg, "--clients") == 0)
		o->clients = number_of(args, i, 1, SESSIONS_MAX);
	else if (strcmp(arg, "--per-host") == 0)
		o->per_host = number_of(args, i, 1, SESSIONS_MAX);
	else if (strcmp(arg, "--flood") == 0)
		o->flood = number_of(args, i, 0, 1000000);
	else if (strcmp(arg, "--replay") == 0)
		o->replay = number_of(args, i, 0, 1000000);
	else
		return false;
	return true;
}

struct options
options_parse(int argc, char **argv)
{
	struct options o = {
		.host = "127.0.0.1", .port = 6667, .name = "weir", .clients = 512, .per_host = 16,
		.flood = 50, .replay = 1000, .sandbox = true,
	};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			exit(0);
		}
		if (!take_switch(&o, argv[i]) && !take_value(&o, argv, &i))
			usage_error("unknown option %s; see --help", argv[i]);
	}
	if (o.data == NULL)
		usage_error("--data DIR is required: the directory of logs and accounts");
	return o;
}

#include "options.h"

#include "die.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Large enough for any experiment, small enough that times cannot overflow. */
static const long number_max = 1000000000;

/* Parses the value of a flag; ends the program unless it is a number from low to number_max. */
static uint32_t
number(const char *flag, const char *text, long low)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || n < low || n > number_max)
		die(EXIT_USAGE, "%s takes a number from %ld to %ld, not \"%s\"",
		    flag, low, number_max, text);
	return (uint32_t)n;
}

/* Parses the value of --listen, HOST:PORT or [HOST]:PORT, into host and port. */
static void
address(struct options *o, const char *text)
{
	const char *colon = strrchr(text, ':');
	const char *host = text;
	size_t length;
	long port;
	char *end;

	if (colon == NULL)
		die(EXIT_USAGE, "--listen takes HOST:PORT, not \"%s\"", text);
	length = (size_t)(colon - text);
	if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
		host++;
		length -= 2;
	}
	port = strtol(colon + 1, &end, 10);
	if (length == 0 || length >= HOST_MAX || *end != '\0' || port < 1 || port > 65535)
		die(EXIT_USAGE, "--listen takes HOST:PORT with a port from 1 to 65535, not \"%s\"", text);
	memcpy(o->host, host, length);
	o->host[length] = '\0';
	o->port = (uint16_t)port;
}

/* Parses the value of --workload. Reports whether it is echo. */
static bool
workload(const char *text)
{
	if (strcmp(text, "echo") != 0 && strcmp(text, "sink") != 0)
		die(EXIT_USAGE, "--workload takes sink or echo, not \"%s\"", text);
	return strcmp(text, "echo") == 0;
}

/* Sets one flag, which is known, to its value. */
static void
set(struct options *o, const char *flag, const char *value)
{
	if (strcmp(flag, "--listen") == 0)
		address(o, value);
	else if (strcmp(flag, "--workload") == 0)
		o->echo = workload(value);
	else if (strcmp(flag, "--size") == 0)
		o->size = number(flag, value, 1);
	else if (strcmp(flag, "--work-us") == 0)
		o->work_us = number(flag, value, 0);
	else
		o->wait_ms = number(flag, value, 0);
}

static bool
known(const char *flag)
{
	static const char *const flags[] = {
		"--listen", "--workload", "--size", "--work-us", "--wait-ms",
	};

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (strcmp(flag, flags[i]) == 0)
			return true;
	return false;
}

struct options
options_parse(int argc, char **argv)
{
	struct options o = { .size = 1000 }; /* workload sink, no work, no waiting */

	die_as(argv[0]);
	for (int i = 1; i < argc; i += 2) {
		if (!known(argv[i]))
			die(EXIT_USAGE, "unknown flag \"%s\"; usage: --listen HOST:PORT [--workload sink|echo] "
			    "[--size BYTES] [--work-us N] [--wait-ms N]: sink writes what it receives to standard output, "
			    "echo sends it back; before that, for each message of BYTES (default 1000), the server computes "
			    "for work-us microseconds and waits for wait-ms milliseconds", argv[i]);
		if (i + 1 == argc)
			die(EXIT_USAGE, "%s needs a value", argv[i]);
		set(&o, argv[i], argv[i + 1]);
	}
	if (o.host[0] == '\0')
		die(EXIT_USAGE, "--listen HOST:PORT is missing");
	return o;
}

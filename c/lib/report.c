#include "report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

static const char *name = "weir";
static bool to_syslog;

void
report_as(const char *program)
{
	const char *slash = strrchr(program, '/');

	name = slash != NULL ? slash + 1 : program;
}

void
report_to_syslog(void)
{
	openlog(name, LOG_PID | LOG_NDELAY, LOG_DAEMON);
	to_syslog = true;
}

/* One write for each line, so that the lines of several processes do not mix. */
static void
say(int priority, bool by_syslog, const char *format, va_list args)
{
	char line[512];

	vsnprintf(line, sizeof line, format, args);
	if (by_syslog)
		syslog(priority, "%s", line);
	else
		dprintf(STDERR_FILENO, "%s: %s\n", name, line);
}

void
report(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_WARNING, to_syslog, format, args);
	va_end(args);
}

void
fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_ERR, to_syslog, format, args);
	va_end(args);
	_exit(EXIT_TROUBLE);
}

void
usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(LOG_ERR, false, format, args);
	va_end(args);
	_exit(EXIT_USAGE);
}

#include "die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name = "subject";

void
die_as(const char *program)
{
	const char *slash = strrchr(program, '/');

	name = slash != NULL ? slash + 1 : program;
}

void
die(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

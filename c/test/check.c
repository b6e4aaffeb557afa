#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned passed;

void
check(bool so, const char *sentence, ...)
{
	va_list args;

	if (so) {
		passed++;
		return;
	}
	fputs("FAILED: ", stderr);
	va_start(args, sentence);
	vfprintf(stderr, sentence, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

unsigned
checks_passed(void)
{
	return passed;
}

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

void
check_folder(char dir[FOLDER_BYTES])
{
	const char *below = getenv("TMPDIR");
	int n = snprintf(dir, FOLDER_BYTES, "%s/chatd-test-XXXXXX", below != NULL && *below != '\0' ? below : "/tmp");

	check(n < FOLDER_BYTES, "TMPDIR is shorter than %d bytes", FOLDER_BYTES - 18);
	check(mkdtemp(dir) != NULL, "a folder can be made: %s", dir);
}

unsigned
checks_passed(void)
{
	return passed;
}

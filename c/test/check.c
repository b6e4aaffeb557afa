#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned passed;

void
check_passed(void)
{
	passed++;
}

void
check_failed(const char *sentence, ...)
{
	va_list args;

	fputs("FAILED, required: ", stderr);
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

	check(n < FOLDER_BYTES, "the path in TMPDIR has fewer than %d bytes", FOLDER_BYTES - 18);
	check(mkdtemp(dir) != NULL, "mkdtemp can create the folder %s", dir);
}

unsigned
checks_passed(void)
{
	return passed;
}

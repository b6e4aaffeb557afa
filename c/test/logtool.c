/*
 * Writes to a room's log, or follows it, while other programs do:
 *
 *	logtool write DATA PATH WRITER COUNT
 *	logtool read DATA PATH COUNT
 *
 * Exits with 0 when all went as docs/protocol.md has it.
 */
#include "lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITERS_MAX = 16 };

static int
write_all(int data, const char *path, int writer, int count)
{
	static struct log_shared shared;
	struct log_recovery found;
	struct log l;

	log_shared_init(&shared);
	if (!log_open(&l, data, path, &shared, true, &found) || found.cut + found.bad + found.missing > 0)
		return 2;
	for (int i = 0; i < count; i++)
		if (!lines_say(&l, writer, i))
			return 3;
	log_close(&l);
	return 0;
}

int
main(int argc, char **argv)
{
	int data = argc > 4 ? open(argv[2], O_RDONLY | O_DIRECTORY) : -1, next[WRITERS_MAX] = { 0 }, status = 1;

	if (data >= 0 && argc == 6 && strcmp(argv[1], "write") == 0)
		status = write_all(data, argv[3], atoi(argv[4]), atoi(argv[5]));
	else if (data >= 0 && argc == 5 && strcmp(argv[1], "read") == 0)
		status = lines_read(data, argv[3], atoi(argv[4]), next, WRITERS_MAX);
	if (status != 0)
		fprintf(stderr, "logtool: %s ends with %d\n", argc > 1 ? argv[1] : "it", status);
	return status;
}

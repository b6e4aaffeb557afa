/* The file "networks": a line "NAME NETWORK" for each network from which an account has logged
 * in. */
#include "guess.h"

#include "buffer.h"
#include "slice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = NICK_MAX + NET_HOST_MAX + 8, FILE_MAX_BYTES = KNOWN_MAX * LINE_MAX_BYTES };

static char text[FILE_MAX_BYTES]; /* uses memory only while a file is read or written */

/* Adds the network of a line. The table has IPv4 addresses without "/32". */
static void
learn(struct guesses *g, struct slice line, uint64_t order)
{
	struct slice name = slice_cut(&line, ' ');
	struct login l;
	char *bits;

	if (name.length == 0 || line.length == 0 || !slice_copy(name, l.name, sizeof l.name) || !slice_copy(line, l.network, sizeof l.network))
		return;
	bits = strchr(l.network, '/');
	if (bits == NULL || strchr(l.network, ' ') != NULL)
		return;
	if (strcmp(bits, "/32") == 0)
		*bits = '\0';
	guess_right(g, &l, order);
}

void
known_read(struct guesses *g, int data)
{
	int fd = openat(data, "networks", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = 0;
	uint64_t order = 0;

	if (fd < 0)
		return;
	while (length < sizeof text && (n = read(fd, text + length, sizeof text - length)) > 0)
		length += (size_t)n;
	close(fd);
	for (struct slice rest = { text, length }; rest.length > 0;)
		learn(g, slice_cut(&rest, '\n'), order++);
}

static int
by_age(const void *a, const void *b)
{
	uint64_t x = (*(const struct known *const *)a)->at, y = (*(const struct known *const *)b)->at;

	return (x > y) - (x < y);
}

static struct slice
lines_of(const struct guesses *g)
{
	struct buffer b = BUFFER_IN(text);
	const struct known *all[KNOWN_MAX];
	size_t count = 0;

	for (int i = 0; i < KNOWN_MAX; i++)
		if (g->known[i].at != 0 && g->known[i].network[0] != '\0')
			all[count++] = &g->known[i];
	qsort(all, count, sizeof *all, by_age);
	for (size_t i = 0; i < count; i++)
		buffer_format(&b, "%s %s%s\n", all[i]->account, all[i]->network, strchr(all[i]->network, '/') == NULL ? "/32" : "");
	return buffer_slice(&b);
}

bool
known_write(const struct guesses *g, int data)
{
	struct slice lines = lines_of(g);
	int fd = openat(data, ".networks.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool fine = fd >= 0 && write(fd, lines.at, lines.length) == (ssize_t)lines.length && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return fine && renameat(data, ".networks.tmp", data, "networks") == 0 && fsync(data) == 0;
}

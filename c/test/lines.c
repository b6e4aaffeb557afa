#include "lines.h"

#include "clock.h"
#include "reader.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BYTES = 1 << 17, TEXT_MAX = 600, PAUSE_NS = 100000 };

bool
lines_say(struct log *l, int writer, int number)
{
	static char scratch[BYTES];
	char body[TEXT_MAX + 64];
	int head = snprintf(body, sizeof body, ":w%d!b@c PRIVMSG #room :%d %d ", writer, writer, number);
	size_t text = (size_t)(writer * 37 + number * 11) % TEXT_MAX;
	struct entry e = { .body = { body, (size_t)head + text } };
	struct log_batch b = { .entries = &e, .count = 1, .now_ms = clock_now(), .scratch = scratch, .capacity = sizeof scratch };
	uint64_t first, end;

	memset(body + head, 'a' + writer, text);
	return log_append(l, &b, &first, &end) && log_commit(l, end) != LOG_LOST;
}

static int
look_at(struct slice line, uint64_t offset, int *next, int writers)
{
	int writer, number;
	char text[64];

	if (!stored_whole(line, offset) || !slice_copy((struct slice){ stored_plain(line).at, 40 }, text, sizeof text))
		return 6;
	if (sscanf(text, ":w%*d!b@c PRIVMSG #room :%d %d", &writer, &number) != 2 || writer < 0 || writer >= writers || number != next[writer]++)
		return 7;
	return 0;
}

int
lines_read(int data, const char *path, int count, int *next, int writers)
{
	static char buffer[BYTES];
	struct reader r;
	uint64_t first;
	int n = 0, wrong = 0;

	if (!reader_open(&r, data, path, 0))
		return 4;
	while (wrong == 0 && (n < count || (count == 0 && r.position < reader_committed(&r)))) {
		long got = reader_read(&r, buffer, sizeof buffer, reader_committed(&r), &first);
		struct slice rest = { buffer, got > 0 ? (size_t)got : 0 };

		if (got < 0)
			wrong = 5;
		if (got == 0)
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		for (; rest.length > 0 && wrong == 0; n++) {
			struct slice line = { rest.at, slice_cut(&rest, '\n').length + 1 };

			wrong = look_at(line, first, next, writers);
			first += line.length;
		}
	}
	reader_close(&r);
	return wrong;
}

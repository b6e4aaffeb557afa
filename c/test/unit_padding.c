/* Padding: the zeros behind the last line of a busy room. */
#include "unit.h"

#include "check.h"
#include "log.h"
#include "reader.h"
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512, BUFFER_BYTES = 1 << 17, BUSY = 20, QUIET = 5 };

static struct log_shared shared;
static char scratch[BUFFER_BYTES];

/* A log in a folder of its own. */
struct room {
	char dir[FOLDER_BYTES];
	int data;
	struct log log;
};

static void
open_room(struct room *m, struct log_recovery *found)
{
	log_shared_init(&shared);
	check(log_open(&m->log, m->data, "room", &shared, true, found), "log_open opens the log; got %s", strerror(errno));
}

static void
make_room(struct room *m)
{
	struct log_recovery found;

	check_folder(m->dir);
	m->data = open(m->dir, O_RDONLY | O_DIRECTORY);
	check(m->data >= 0, "the data directory %s can be opened", m->dir);
	open_room(m, &found);
}

static void
remove_room(struct room *m)
{
	char command[PATH_BYTES];

	log_close(&m->log);
	close(m->data);
	snprintf(command, sizeof command, "rm -r %s", m->dir);
	check(system(command) == 0, "the command succeeds: %s", command);
}

/* Appends messages, each a batch of its own, all in one second. */
static void
say(struct room *m, int count)
{
	struct entry e = { .body = slice_of(":a!b@c PRIVMSG #room :text") };
	struct log_batch b = { .entries = &e, .count = 1, .now_ms = 5000, .scratch = scratch, .capacity = sizeof scratch };
	uint64_t first, end;

	for (int i = 0; i < count; i++) {
		check(log_append(&m->log, &b, &first, &end), "log_append writes a message; got %s", strerror(errno));
		check(log_commit(&m->log, end) == LOG_COMMITTED_US, "log_commit syncs the message to the disk up to offset %llu", (unsigned long long)end);
	}
}

static uint64_t
end_of(const struct room *m)
{
	return atomic_load(&m->log.ends->end);
}

static uint64_t
file_size(const struct room *m)
{
	char path[PATH_BYTES];
	struct stat s;

	snprintf(path, sizeof path, "%s/room/00000000000000000000.log", m->dir);
	check(stat(path, &s) == 0, "the first segment is there");
	return (uint64_t)s.st_size;
}

/* Counts the lines up to COMMITTED, all of which must be whole. */
static int
count_lines(const struct room *m)
{
	static char buffer[BUFFER_BYTES];
	struct reader r;
	uint64_t first;
	int n = 0;
	long got;

	check(reader_open(&r, m->data, "room", 0), "the log can be opened for reading");
	while ((got = reader_read(&r, buffer, sizeof buffer, reader_committed(&r), &first)) > 0) {
		struct slice rest = { buffer, (size_t)got };

		while (rest.length > 0) {
			struct slice line = { rest.at, slice_cut(&rest, '\n').length + 1 };

			check(stored_whole(line, first), "the line at offset %llu is whole", (unsigned long long)first);
			first += line.length;
			n++;
		}
	}
	reader_close(&r);
	return n;
}

static void
test_busy(void)
{
	struct log_recovery found;
	struct room m;
	uint64_t end, size;

	make_room(&m);
	say(&m, QUIET);
	check(file_size(&m) == end_of(&m), "a room with %d messages has no padding; got %llu bytes for %llu", QUIET, (unsigned long long)file_size(&m), (unsigned long long)end_of(&m));
	say(&m, BUSY);
	end = end_of(&m);
	check(file_size(&m) > end + 2048 && file_size(&m) <= end + (64 << 10), "a busy room has some padding; got %llu bytes for %llu", (unsigned long long)file_size(&m), (unsigned long long)end);
	check(segment_data_size(m.log.segment, &size) && size == end, "the padding is zeros: the data ends at %llu; got %llu", (unsigned long long)end, (unsigned long long)size);
	check(count_lines(&m) == QUIET + BUSY, "a reader finds all lines of a padded log; got %d", count_lines(&m));
	m.log.padded = false; /* as if the process were killed */
	log_close(&m.log);
	check(file_size(&m) > end, "the padding of a killed process stays");
	open_room(&m, &found);
	check(found.cut == 0 && found.bad == 0 && found.missing == 0, "padding is no torn tail; got %llu bytes cut, %llu bad lines, %llu bytes missing", (unsigned long long)found.cut, (unsigned long long)found.bad, (unsigned long long)found.missing);
	check(file_size(&m) == end && end_of(&m) == end, "a recovery cuts the padding; got %llu bytes for %llu", (unsigned long long)file_size(&m), (unsigned long long)end);
	say(&m, BUSY);
	end = end_of(&m);
	log_close(&m.log);
	check(file_size(&m) == end, "log_close cuts the padding; got %llu bytes for %llu", (unsigned long long)file_size(&m), (unsigned long long)end);
	open_room(&m, &found);
	check(count_lines(&m) == QUIET + 2 * BUSY, "no line is lost; got %d", count_lines(&m));
	remove_room(&m);
}

/* A process is killed while it writes a batch into the padding. The next writer finds the torn
 * line. */
static void
test_torn(void)
{
	static const char torn[] = "@weir/sum=";
	struct room m;
	uint64_t end;

	make_room(&m);
	say(&m, BUSY);
	end = end_of(&m);
	check(pwrite(m.log.segment, torn, strlen(torn), (off_t)end) == (ssize_t)strlen(torn), "a torn line can be written");
	say(&m, 1);
	check(file_size(&m) == end, "the torn line is cut, and the padding behind it; got %llu bytes for %llu", (unsigned long long)file_size(&m), (unsigned long long)end);
	check(m.log.base == end + strlen(torn), "the next line has an offset behind the torn line; got %llu", (unsigned long long)m.log.base);
	check(count_lines(&m) == BUSY + 1, "no line is lost; got %d", count_lines(&m));
	remove_room(&m);
}

/* Limits the size of files to what the messages need: there is no room for padding. */
static void
test_no_space(void)
{
	struct rlimit limit, less;
	struct room m;

	make_room(&m);
	signal(SIGXFSZ, SIG_IGN);
	check(getrlimit(RLIMIT_FSIZE, &limit) == 0, "the limit of file sizes can be read");
	less = limit;
	less.rlim_cur = 4000;
	check(setrlimit(RLIMIT_FSIZE, &less) == 0, "the size of files can be limited");
	say(&m, BUSY);
	check(setrlimit(RLIMIT_FSIZE, &limit) == 0, "the limit of file sizes can be removed");
	check(file_size(&m) == end_of(&m), "padding that does not fit is cut again; got %llu bytes for %llu", (unsigned long long)file_size(&m), (unsigned long long)end_of(&m));
	check(count_lines(&m) == BUSY, "the messages are stored without padding; got %d", count_lines(&m));
	remove_room(&m);
}

void
test_padding(void)
{
	test_busy();
	test_torn();
	test_no_space();
}

/* The log: against the golden vectors, and the guarantees to its writers and readers. */
#include "unit.h"

#include "check.h"
#include "log.h"
#include "reader.h"
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM_BYTES = 1 << 17, PATH_BYTES = 512 };

static struct log_shared shared;
static char scratch[ROOM_BYTES];

static void
run(const char *format, const char *a, const char *b)
{
	char command[2 * PATH_BYTES];

	snprintf(command, sizeof command, format, a, b);
	check(system(command) == 0, "the command succeeds: %s", command);
}

static int
make_folder(char dir[FOLDER_BYTES])
{
	int data;

	check_folder(dir);
	data = open(dir, O_RDONLY | O_DIRECTORY);
	check(data >= 0, "the data directory %s can be opened", dir);
	return data;
}

static void
remove_folder(const char *dir, int data)
{
	close(data);
	run("rm -r %s%s", dir, "");
}

static void
open_log(struct log *l, int data, struct log_recovery *found)
{
	log_shared_init(&shared);
	check(log_open(l, data, "room", &shared, true, found), "log_open opens the log; got %s", strerror(errno));
}

/* Appends one message and waits until it is on disk. */
static uint64_t
say(struct log *l, const char *body, uint64_t ms)
{
	struct entry e = { .body = slice_of(body) };
	struct log_batch b = { .entries = &e, .count = 1, .now_ms = ms, .scratch = scratch, .capacity = sizeof scratch };
	uint64_t first, end;

	check(log_append(l, &b, &first, &end), "log_append writes a message; got %s", strerror(errno));
	check(log_commit(l, end) == LOG_COMMITTED_US, "log_commit syncs the message to the disk up to offset %" PRIu64, end);
	return first;
}

/* One line of a file "expect": a word, and up to two numbers. */
struct word {
	char what[16];
	uint64_t a, b;
	char text[32];
};

static bool
next_word(FILE *f, struct word *w)
{
	char line[512];

	while (fgets(line, sizeof line, f) != NULL) {
		memset(w, 0, sizeof *w);
		if (line[0] != '#' && sscanf(line, "%15s %31s", w->what, w->text) == 2) {
			sscanf(line, "%*s %" SCNu64 " %" SCNu64 " %31s", &w->a, &w->b, w->text);
			return true;
		}
	}
	return false;
}

/* Reads the next valid line. Returns false at the end. */
static bool
next_line(struct reader *r, char *buffer, struct slice *rest, uint64_t *offset, struct slice *line)
{
	for (;;) {
		while (rest->length > 0) {
			line->at = rest->at;
			line->length = slice_cut(rest, '\n').length + 1;
			*offset += line->length;
			if (stored_whole(*line, *offset - line->length)) {
				*offset -= line->length;
				return true;
			}
		}
		long n = reader_read(r, buffer, ROOM_BYTES, reader_committed(r), offset);

		if (n <= 0)
			return false;
		*rest = (struct slice){ buffer, (size_t)n };
	}
}

static void
check_cut(const char *dir, uint64_t base, uint64_t size, const char *name)
{
	char path[PATH_BYTES];
	struct stat s;
	bool there;

	snprintf(path, sizeof path, "%s/room/%020" PRIu64 ".log", dir, base);
	there = stat(path, &s) == 0;
	check(there ? (uint64_t)s.st_size == size : size == 0, "vector %s: segment %" PRIu64 " is cut to %" PRIu64 " bytes; got %lld", name, base, size, there ? (long long)s.st_size : -1LL);
}

static void
test_vector(const char *vectors, const char *name)
{
	char dir[FOLDER_BYTES], path[PATH_BYTES], *buffer = malloc(ROOM_BYTES);
	int data = make_folder(dir);
	struct log_recovery found;
	struct log l;
	struct reader r;
	struct slice rest = { "", 0 }, line;
	struct word w;
	uint64_t offset = 0, next = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof path, "%s/log/%s", vectors, name);
	run("cp -r %s %s/room", path, dir);
	snprintf(path, sizeof path, "%s/room/expect", dir);
	f = fopen(path, "r");
	check(f != NULL && buffer != NULL, "vector %s has a file \"expect\"", name);
	open_log(&l, data, &found);
	check(reader_open(&r, data, "room", 0), "vector %s can be opened for reading", name);
	while (next_word(f, &w)) {
		if (strcmp(w.what, "id") == 0)
			check(strcmp(l.id, w.text) == 0, "vector %s: the log's id is %s; got %s", name, w.text, l.id);
		if (strcmp(w.what, "next") == 0)
			next = w.a;
		if (strcmp(w.what, "cut") == 0)
			check_cut(dir, w.a, w.b, name);
		if (strcmp(w.what, "line") == 0) {
			check(next_line(&r, buffer, &rest, &offset, &line) && offset == w.a && line.length == w.b, "vector %s: the next line is at offset %" PRIu64 "; got one at %" PRIu64, name, w.a, offset);
			check(memcmp(line.at + 10, w.text, 8) == 0, "vector %s: the line's checksum is %s; got %.8s", name, w.text, line.at + 10);
			offset += line.length;
		}
	}
	if (strcmp(name, "committed") == 0)
		check(next_line(&r, buffer, &rest, &offset, &line) && offset == 108, "vector %s: the whole line beyond COMMITTED, at offset 108, is kept", name);
	else
		check(!next_line(&r, buffer, &rest, &offset, &line), "vector %s: no more lines follow; got one at %" PRIu64, name, offset);
	if (next != UINT64_MAX) /* not every vector has the result of a writer */
		check(say(&l, ":a!b@c PRIVMSG #room :next", 0) == next, "vector %s: the next line is appended at offset %" PRIu64, name, next);
	fclose(f);
	reader_close(&r);
	log_close(&l);
	remove_folder(dir, data);
	free(buffer);
}

static void
test_vectors(const char *vectors)
{
	static const char *const names[] = { "empty", "plain", "segments", "corrupt", "corrupt-before", "moved", "overlap", "redacted", "committed",
		"cut-begun", "torn", "torn-lf", "torn-sum", "torn-zeros", "torn-hole", "torn-before", "padded", "padded-only", "padded-cut" };
	const union { uint16_t number; char first; } order = { .number = 1 };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (order.first == 1 || strcmp(names[i], "committed") != 0)
			test_vector(vectors, names[i]);
}

/* Checks the lines of the vector "plain", also those with decreasing times. */
static void
test_writing(const char *vectors)
{
	char path[PATH_BYTES], want[4096], got[4096], *line = want;
	size_t n, made = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/log/plain/00000000000000000000.log", vectors);
	f = fopen(path, "r");
	check(f != NULL, "the vector \"plain\" can be opened");
	n = fread(want, 1, sizeof want, f);
	fclose(f);
	while (line < want + n) {
		struct slice whole = { line, (size_t)((char *)memchr(line, '\n', (size_t)(want + n - line)) + 1 - line) };
		struct slice tags = stored_tags(whole), body = stored_plain(whole);
		struct entry e;
		uint64_t ms;

		check(stored_time(whole, &ms), "every line of the vector \"plain\" has a time");
		slice_cut(&tags, ';');
		slice_cut(&tags, ';'); /* time, msgid */
		if (slice_starts(tags, "weir/pad="))
			tags.length = 0;
		e = (struct entry){ tags, { body.at, body.length - 2 } };
		made += stored_write(got + made, sizeof got - made, "abcdefgh", made, ms, &e);
		line += whole.length;
	}
	check(made == n && memcmp(got, want, n) == 0, "the lines of the vector \"plain\" are written again byte for byte; got %zu bytes for %zu", made, n);
}

static void
test_order(void)
{
	char dir[FOLDER_BYTES];
	int data = make_folder(dir);
	struct log_recovery found;
	struct log l;
	struct reader r;
	struct slice line, rest = { "", 0 };
	uint64_t ms, offset = 0, first;
	char *buffer = malloc(ROOM_BYTES);

	open_log(&l, data, &found);
	check(say(&l, ":a!b@c PRIVMSG #room :one", 5000) == 0, "the first line of a log is at offset 0");
	first = say(&l, ":a!b@c PRIVMSG #room :two", 4000);
	log_shared_reset(&shared); /* as if another program had written them */
	say(&l, ":a!b@c PRIVMSG #room :three", 3000);
	check(reader_open(&r, data, "room", 0), "the log can be opened for reading");
	for (int i = 0; i < 3; i++) {
		check(next_line(&r, buffer, &rest, &offset, &line) && stored_time(line, &ms) && ms == 5000, "a line written after the clock went back has the time of the line before, 5000 ms; got %llu", (unsigned long long)ms);
		offset += line.length;
	}
	check(reader_back(&r, reader_committed(&r), 2) && r.position == first, "the newest two of three lines begin with the second, at %" PRIu64 "; got %" PRIu64, first, r.position);
	check(reader_back(&r, reader_committed(&r), 100) && r.position == 0, "100 of three lines are all of them, from offset 0; got %" PRIu64, r.position);
	reader_close(&r);
	log_close(&l);
	remove_folder(dir, data);
	free(buffer);
}

/* A power loss may leave "committed" empty: a process that reads such a mapping gets SIGBUS. */
static void
test_empty_committed(void)
{
	char dir[FOLDER_BYTES];
	int data = make_folder(dir);
	struct log_recovery found;
	struct log l;
	struct reader r;

	open_log(&l, data, &found);
	say(&l, ":a!b@c PRIVMSG #room :one", 5000);
	log_close(&l);
	run(": >%s/room/committed%s", dir, "");
	check(!reader_open(&r, data, "room", 0) && errno == EINVAL, "a log whose file committed is empty is not opened for reading; got %s", strerror(errno));
	open_log(&l, data, &found);
	check(reader_open(&r, data, "room", 0), "it is after its recovery; got %s", strerror(errno));
	reader_close(&r);
	log_close(&l);
	remove_folder(dir, data);
}

/* Fills several segments; readers cross their borders in both directions. */
static void
test_rolling(void)
{
	enum { TEXT = 8000, LINES = 2300 };
	char dir[FOLDER_BYTES], *body = malloc(TEXT + 64), *buffer = malloc(ROOM_BYTES);
	int data = make_folder(dir);
	struct log_recovery found;
	struct log l;
	struct reader r;
	struct slice line, rest = { "", 0 };
	uint64_t offset = 0, base, first, end, third = 0;
	int n = 0;

	open_log(&l, data, &found);
	for (int i = 0; i < LINES; i++) {
		int head = snprintf(body, 64, ":a!b@c PRIVMSG #room :%d ", i);
		struct entry e = { .body = { body, (size_t)head + TEXT } };
		struct log_batch b = { .entries = &e, .count = 1, .scratch = scratch, .capacity = sizeof scratch };

		memset(body + head, 'x', TEXT);
		check(log_append(&l, &b, &first, &end), "log_append writes a long message; got %s", strerror(errno));
		if (i == 3)
			third = first;
	}
	check(log_commit(&l, end) == LOG_COMMITTED_US, "one log_commit syncs the lines of all segments");
	check(segment_find(l.dir, 0, SEGMENT_AFTER, &base) && segment_find(l.dir, base, SEGMENT_AFTER, &base), "the lines fill three segments or more");
	check(reader_open(&r, data, "room", 0), "the log of several segments can be opened for reading");
	for (; next_line(&r, buffer, &rest, &offset, &line); offset += line.length)
		n++;
	check(n == LINES, "a reader finds all %d lines; got %d", LINES, n);
	check(reader_back(&r, reader_committed(&r), LINES - 3) && r.position == third, "reading backwards crosses segments: line 3 is at %" PRIu64 "; got %" PRIu64, third, r.position);
	reader_close(&r);
	log_close(&l);
	open_log(&l, data, &found);
	check(found.cut == 0 && found.bad == 0, "opened again, the log has no torn and no invalid bytes; got %" PRIu64 " and %" PRIu64, found.cut, found.bad);
	check(say(&l, ":a!b@c PRIVMSG #room :after", 0) == end, "opened again, the log continues at its end, offset %" PRIu64, end);
	log_close(&l);
	remove_folder(dir, data);
	free(body);
	free(buffer);
}

/* Cuts the file at every byte of its last line, and below COMMITTED: valid lines stay, and no
 * offset is used twice. */
static void
test_cuts(void)
{
	char dir[FOLDER_BYTES], path[PATH_BYTES];
	int data = make_folder(dir);
	struct log_recovery found;
	struct log l;
	uint64_t second = 0, end = 1, next;

	for (uint64_t cut = 0; second + cut < end; cut += 7) {
		open_log(&l, data, &found);
		say(&l, ":a!b@c PRIVMSG #room :one", 0);
		second = say(&l, ":a!b@c PRIVMSG #room :two", 0);
		end = atomic_load(&l.ends->end);
		snprintf(path, sizeof path, "%s/room/00000000000000000000.log", dir);
		check(truncate(path, (off_t)(second + cut)) == 0, "the segment can be cut to %" PRIu64 " bytes", second + cut);
		log_close(&l);
		open_log(&l, data, &found);
		check(found.cut == cut && found.missing == end - second - cut, "cut after %" PRIu64 " bytes of the last line: the torn bytes and the %" PRIu64 " missing ones are reported; got %" PRIu64 " and %" PRIu64, cut, end - second - cut, found.cut, found.missing);
		next = say(&l, ":a!b@c PRIVMSG #room :three", 0);
		check(next == end, "no offset is used twice: the next line is at %" PRIu64 "; got %" PRIu64, end, next);
		log_close(&l);
		run("rm -r %s/room%s", dir, "");
	}
	remove_folder(dir, data);
}

/* Limits the size of files; 0: no limit. */
static bool
limit_file(uint64_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
		return false;
	limit.rlim_cur = bytes == 0 ? limit.rlim_max : bytes;
	return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/* Simulates a full disk by the limit on file sizes (EFBIG). The batch is refused as a whole, and
 * the log continues to work. */
static void
test_full_disk(void)
{
	char dir[FOLDER_BYTES];
	int data = make_folder(dir);
	struct log_recovery found;
	struct log l;
	struct entry e = { .body = slice_of(":a!b@c PRIVMSG #room :does not fit") };
	struct log_batch b = { .entries = &e, .count = 1, .scratch = scratch, .capacity = sizeof scratch };
	uint64_t first, end, last_end;

	open_log(&l, data, &found);
	say(&l, ":a!b@c PRIVMSG #room :fits", 0);
	last_end = atomic_load(&l.ends->end);
	check(limit_file(last_end + 20), "setrlimit can limit the size of files to 20 more bytes");
	check(!log_append(&l, &b, &first, &end), "log_append refuses a message that does not fit on the disk");
	check(limit_file(0), "setrlimit can remove the limit of file sizes");
	check(say(&l, ":a!b@c PRIVMSG #room :fits again", 0) == last_end, "after a refused message the log continues at offset %" PRIu64, last_end);
	log_close(&l);
	open_log(&l, data, &found);
	check(found.cut == 0 && found.bad == 0, "the refused message left no torn and no invalid bytes; got %" PRIu64 " and %" PRIu64, found.cut, found.bad);
	log_close(&l);
	remove_folder(dir, data);
}

static void
test_too_long(void)
{
	char dir[FOLDER_BYTES], *body = malloc(STORED_MAX);
	int data = make_folder(dir);
	struct log_recovery found;
	struct log l;
	struct entry e = { .body = { body, STORED_MAX - 10 } };
	struct log_batch b = { .entries = &e, .count = 1, .scratch = scratch, .capacity = sizeof scratch };
	uint64_t first, end;

	memset(body, 'x', STORED_MAX);
	memcpy(body, ":a B ", 5);
	open_log(&l, data, &found);
	check(!log_append(&l, &b, &first, &end) && errno == EMSGSIZE, "log_append refuses a line longer than 16 KiB with EMSGSIZE; got %s", strerror(errno));
	log_close(&l);
	remove_folder(dir, data);
	free(body);
}

void
test_log(const char *vectors)
{
	test_vectors(vectors);
	test_writing(vectors);
	test_order();
	test_empty_committed();
	test_rolling();
	test_cuts();
	test_full_disk();
	test_too_long();
}

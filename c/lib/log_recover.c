/*
 * docs/protocol.md, "Recovery": what a writer does when it opens a room or finds it inconsistent.
 * Valid lines stay, a torn tail is cut, and the next line starts a segment behind it, so that no
 * offset is used twice.
 */
#include "log.h"

#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 65536 };

static const uint64_t offset_max = (uint64_t)1 << 62; /* larger values in "committed" are damage */

/* The result of reading the segments from begin on. */
struct scan {
	uint64_t begin, position; /* position: the next byte to read */
	uint64_t whole;           /* end of the last valid line, begin if there is none */
	uint64_t behind;          /* end of all bytes */
	uint64_t bad, bad_before; /* damaged lines in all, and before whole */
};

static void
scan_line(struct scan *s, struct slice line)
{
	if (stored_whole(line, s->position)) {
		s->whole = s->position + line.length;
		s->bad_before = s->bad;
	} else {
		s->bad++;
	}
	s->position += line.length;
}

/* Scans the lines in n bytes and returns the bytes used. Bytes without an LF count as a line at the
 * end of the segment, or if they are too long for a line. */
static size_t
scan_block(struct scan *s, const char *block, size_t n, bool last)
{
	size_t used = 0;

	while (used < n) {
		const char *end = memchr(block + used, '\n', n - used);
		size_t length = end == NULL ? n - used : (size_t)(end - block) + 1 - used;

		if (end == NULL && length <= STORED_MAX && !last)
			break;
		scan_line(s, (struct slice){ block + used, length });
		used += length;
	}
	return used;
}

/* Scans a segment up to limit. */
static bool
scan_segment(int fd, uint64_t base, uint64_t limit, struct scan *s)
{
	static char block[BLOCK]; /* uses memory only as far as it is written */

	while (s->position < limit) {
		uint64_t left = limit - s->position;
		size_t n = left < BLOCK ? (size_t)left : BLOCK;

		if (pread(fd, block, n, (off_t)(s->position - base)) != (ssize_t)n)
			return false;
		scan_block(s, block, n, n == left);
	}
	return true;
}

/* Gets the end of a segment's bytes: its end, or the start of the next segment. */
static bool
limit_of(int dir, int fd, uint64_t base, uint64_t *limit)
{
	uint64_t size, next;

	if (!segment_size(fd, &size))
		return false;
	*limit = base + size;
	if (segment_find(dir, base, SEGMENT_AFTER, &next) && next < *limit)
		*limit = next;
	return true;
}

/* Scans all segments from s->begin on, which is in the one with this base. */
static bool
scan_all(int dir, uint64_t base, struct scan *s)
{
	bool fine = true;

	s->position = s->whole = s->behind = s->begin;
	do {
		int fd = segment_open(dir, base, O_RDONLY);
		uint64_t limit = 0;

		if (base > s->position)
			s->position = base;
		fine = fd >= 0 && limit_of(dir, fd, base, &limit) && scan_segment(fd, base, limit, s);
		if (limit > s->behind)
			s->behind = limit;
		if (fd >= 0)
			close(fd);
	} while (fine && segment_find(dir, base, SEGMENT_AFTER, &base));
	return fine;
}

/* Reports whether a segment starts at the offset, or a line behind an LF. */
static bool
is_border(int dir, uint64_t offset)
{
	uint64_t base;
	char before = '\0';
	int fd;

	if (!segment_find(dir, offset, SEGMENT_AT, &base))
		return false;
	if (base == offset)
		return true;
	fd = segment_open(dir, base, O_RDONLY);
	if (fd < 0)
		return false;
	(void)!pread(fd, &before, 1, (off_t)(offset - 1 - base));
	close(fd);
	return before == '\n';
}

/* Gets the base of the last segment that is not empty, or of the last one. */
static bool
last_with_lines(int dir, uint64_t *base)
{
	uint64_t size = 0, before;

	if (!segment_find(dir, INT64_MAX, SEGMENT_AT, base))
		return false;
	before = *base;
	for (;;) {
		int fd = segment_open(dir, before, O_RDONLY);

		if (fd < 0 || !segment_size(fd, &size))
			return false;
		close(fd);
		if (size > 0)
			*base = before;
		if (size > 0 || before == 0 || !segment_find(dir, before - 1, SEGMENT_AT, &before))
			return true;
	}
}

/* Rewrites the valid lines of a segment in place, because they may stem from a failed sync. Cuts it
 * at s->whole, and removes it if it is empty then. */
static bool
rewrite_segment(int dir, uint64_t base, const struct scan *s, bool last)
{
	static char block[BLOCK];
	int fd = segment_reopen(dir, base);
	uint64_t limit = 0, from = s->begin > base ? s->begin : base;
	bool fine = fd >= 0 && limit_of(dir, fd, base, &limit);

	for (uint64_t end = limit < s->whole ? limit : s->whole; fine && from < end; from += BLOCK) {
		size_t n = end - from < BLOCK ? (size_t)(end - from) : BLOCK;

		fine = pread(fd, block, n, (off_t)(from - base)) == (ssize_t)n && pwrite(fd, block, n, (off_t)(from - base)) == (ssize_t)n;
	}
	if (fine && limit > s->whole)
		fine = ftruncate(fd, s->whole > base ? (off_t)(s->whole - base) : 0) == 0;
	fine = fine && fdatasync(fd) == 0 && fchmod(fd, last ? 0600 : 0400) == 0;
	if (fd >= 0)
		close(fd);
	if (fine && !last && s->whole <= base)
		fine = segment_remove(dir, base);
	return fine;
}

static bool
rewrite(struct log *l, uint64_t base, const struct scan *s)
{
	uint64_t next;
	bool last;

	do {
		last = !segment_find(l->dir, base, SEGMENT_AFTER, &next);
		if (!rewrite_segment(l->dir, base, s, last))
			return false;
		base = next;
	} while (!last);
	return true;
}

/* Opens the segment for the next line. It is a new one behind every offset ever used, unless the
 * last segment can be used. */
static bool
open_last(struct log *l, const struct scan *s, uint64_t committed, uint64_t end)
{
	uint64_t beyond = s->behind, base, size;

	if (end > beyond)
		beyond = end;
	if (committed > beyond)
		beyond = committed;
	if (!segment_find(l->dir, INT64_MAX, SEGMENT_AT, &base) || !log_take_segment(l, base) || !segment_size(l->segment, &size))
		return false;
	if ((s->whole == s->behind && beyond <= base + size) || (size == 0 && base >= beyond))
		return true;
	return log_next_segment(l, beyond);
}

static bool
has_end(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* Removes the temporary files of an interrupted redaction or repair. */
static bool
remove_temporary(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *file;
	bool fine = list != NULL;

	while (fine && (file = readdir(list)) != NULL)
		if (has_end(file->d_name, ".tmp"))
			fine = unlinkat(dir, file->d_name, 0) == 0;
	if (list != NULL)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	return fine;
}

static bool
random_id(char id[STORED_ID])
{
	unsigned char random[STORED_ID];
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	bool fine = fd >= 0 && read(fd, random, sizeof random) == (ssize_t)sizeof random;

	for (int i = 0; i < STORED_ID && fine; i++)
		id[i] = "abcdefghijklmnopqrstuvwxyz234567"[random[i] & 31];
	if (fd >= 0)
		close(fd);
	return fine;
}

/* Gets the id in the first valid line. Returns false if there is none. */
static bool
id_of_lines(int dir, char id[STORED_ID])
{
	char text[STORED_MAX];
	uint64_t base;
	int fd;
	ssize_t n;
	const char *end;

	if (!segment_find(dir, 0, SEGMENT_AT, &base) && !segment_find(dir, 0, SEGMENT_AFTER, &base))
		return false;
	fd = segment_open(dir, base, O_RDONLY);
	n = fd < 0 ? -1 : pread(fd, text, sizeof text, 0);
	if (fd >= 0)
		close(fd);
	end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	if (end == NULL || !stored_whole(slice_between(text, end + 1), base))
		return false;
	memcpy(id, stored_id(slice_between(text, end + 1)).at, STORED_ID);
	return true;
}

static bool
make_id(int dir)
{
	char text[STORED_ID + 1];
	int fd = openat(dir, "id", O_RDONLY | O_CLOEXEC);
	bool fine;

	if (fd >= 0)
		return close(fd) == 0;
	if (errno != ENOENT || (!id_of_lines(dir, text) && !random_id(text)))
		return false;
	text[STORED_ID] = '\n';
	fd = openat(dir, "id.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fine = fd >= 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return fine && renameat(dir, "id.tmp", dir, "id") == 0 && fsync(dir) == 0;
}

/* Reads the two numbers of "committed". Returns false, and zeros, if it has no content. */
static bool
read_ends(const struct log *l, uint64_t ends[2])
{
	bool says = pread(l->sync, ends, 2 * sizeof *ends, 0) == (ssize_t)(2 * sizeof *ends);

	for (int i = 0; i < 2; i++)
		if (!says || ends[i] >= offset_max)
			ends[i] = 0;
	return says;
}

static bool
store_ends(struct log *l, uint64_t at)
{
	uint64_t both[2] = { at, at };

	if (l->ends == MAP_FAILED)
		return pwrite(l->sync, both, sizeof both, 0) == (ssize_t)sizeof both && fsync(l->sync) == 0 && log_map_ends(l);
	atomic_store(&l->ends->end, at);
	atomic_store(&l->ends->committed, at);
	return true;
}

static bool
make_first(struct log *l, const uint64_t ends[2])
{
	uint64_t base;
	int fd;

	if (segment_find(l->dir, INT64_MAX, SEGMENT_AT, &base))
		return true;
	fd = segment_make(l->dir, ends[0] > ends[1] ? ends[0] : ends[1]);
	return fd >= 0 && close(fd) == 0;
}

/* Determines where to start reading: at COMMITTED, if a line may start there. */
static bool
find_begin(struct log *l, bool says, uint64_t committed, uint64_t *begin, uint64_t *base)
{
	if (says && is_border(l->dir, committed)) {
		*begin = committed;
		return segment_find(l->dir, committed, SEGMENT_AT, base);
	}
	if (!last_with_lines(l->dir, base))
		return false;
	*begin = *base;
	return true;
}

bool
log_recover(struct log *l, struct log_recovery *found)
{
	uint64_t ends[2], base, size; /* ends: COMMITTED, END */
	struct scan s = { 0 };
	bool says = read_ends(l, ends);

	memset(found, 0, sizeof *found);
	if (!remove_temporary(l->dir) || !make_id(l->dir) || !make_first(l, ends) ||
	    !find_begin(l, says, ends[0], &s.begin, &base) || !scan_all(l->dir, base, &s))
		return false;
	found->cut = s.behind - s.whole;
	found->bad = s.bad_before;
	found->missing = says && ends[0] > s.behind ? ends[0] - s.behind : 0;
	if (!open_last(l, &s, ends[0], ends[1]) || !rewrite(l, base, &s) || !segment_size(l->segment, &size) || fsync(l->dir) != 0)
		return false;
	atomic_store(&l->shared->broken, false);
	return store_ends(l, l->base + size);
}

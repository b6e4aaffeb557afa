/*
 * Recovery of a room's log (docs/protocol.md, "Recovery"). A process that opens a room for
 * writing, or finds its files inconsistent, calls log_recover while it holds the sync lock and
 * the write lock.
 *
 * An offset counts the bytes of the room's whole history. A segment is a file of the log; its
 * base is the offset of its first byte, and its name is the base. A segment with a successor is
 * finished: it is read-only and gets no more lines. The file "committed" stores two offsets:
 *
 *	COMMITTED: everything before it is on disk, and readers stop there;
 *	END: the next line is written there. A power failure may lose lines from COMMITTED to END.
 *
 * A line is valid if its form, checksum and offset are correct; otherwise it is damaged. Damaged
 * lines before a valid one stay, and readers skip them. The bytes after the last valid line are
 * the torn tail: a writer was killed while it wrote them.
 *
 * Recovery takes these steps:
 *
 *	1. remove temporary files, create the room's id and the first segment if they are missing, and
 *	   cut the padding, the zeros at the end of the last segment;
 *	2. read the lines from COMMITTED on to find the end of the last valid line and the torn tail;
 *	3. choose the segment for the next line, so that no offset is used twice;
 *	4. write the lines that were read once more, cut the torn tail, and sync;
 *	5. store COMMITTED and END.
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

enum {
	BLOCK = 65536,
	TORN_MAX = 2 * 65536 /* largest size of a torn tail that contains valid lines */
};

/* Offsets in the file "committed" must be less than this. */
static const uint64_t offset_max = (uint64_t)1 << 62;

/* The result of reading the log from an offset to its end. All but the counts are offsets. */
struct scan {
	uint64_t begin;      /* where reading starts */
	uint64_t position;   /* the next byte to read */
	uint64_t valid_end;  /* end of the last valid line; begin if there is none */
	uint64_t data_end;   /* end of the last segment; the torn tail is [valid_end, data_end) */
	uint64_t hole_from;  /* zeros in a line from here on are a hole */
	bool hole;           /* there is one: it and everything behind it is the torn tail */
	uint64_t bad;        /* number of damaged lines */
	uint64_t bad_inside; /* number of damaged lines before valid_end */
};

/* The two offsets of the file "committed" as they were before recovery. */
struct saved_ends {
	uint64_t committed, end;
};

/*
 * Counts the line at s->position as valid or damaged, and moves s->position to the next one. Zeros
 * behind COMMITTED and near the end of the log are sectors that a loss of power has kept from the
 * disk, so nothing behind them in the segment was acknowledged.
 */
static void
scan_line(struct scan *s, struct slice line)
{
	if (s->hole || (s->position >= s->hole_from && memchr(line.at, '\0', line.length) != NULL)) {
		s->hole = true;
	} else if (stored_whole(line, s->position)) {
		s->valid_end = s->position + line.length;
		s->bad_inside = s->bad;
	} else {
		s->bad++;
	}
	s->position += line.length;
}

/* Scans the lines of a block of n bytes. A rest without an LF is a damaged line if the segment
 * ends with the block, or if the rest is too long for a line. Otherwise it is left for the next
 * block. */
static void
scan_block(struct scan *s, const char *block, size_t n, bool ends_segment)
{
	size_t used = 0;

	while (used < n) {
		const char *end = memchr(block + used, '\n', n - used);
		size_t length = end == NULL ? n - used : (size_t)(end - block) + 1 - used;

		if (end == NULL && length <= STORED_MAX && !ends_segment)
			break;
		scan_line(s, (struct slice){ block + used, length });
		used += length;
	}
}

/* Scans a segment from s->position up to the offset limit. */
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

/* Gets the end of a segment: the end of its file, or the base of the next segment if that is
 * less. */
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

/* Scans the log from s->begin to its end. s->begin is in the segment with this base. */
static bool
scan_all(int dir, uint64_t base, struct scan *s)
{
	bool fine = true;

	s->position = s->valid_end = s->data_end = s->begin;
	do {
		int fd = segment_open(dir, base, O_RDONLY);
		uint64_t limit = 0;

		if (base > s->position)
			s->position = base;
		fine = fd >= 0 && limit_of(dir, fd, base, &limit) && scan_segment(fd, base, limit, s);
		if (limit > s->data_end)
			s->data_end = limit;
		if (fd >= 0)
			close(fd);
	} while (fine && segment_find(dir, base, SEGMENT_AFTER, &base));
	return fine;
}

/* Reports whether a line may start at the offset: a segment starts there, or an LF is before it. */
static bool
is_line_start(int dir, uint64_t offset)
{
	uint64_t base;
	char before = '\0';
	int fd;

	if (!segment_find(dir, offset, SEGMENT_AT_OR_BEFORE, &base))
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

/* Gets the base of the last segment that is not empty, or of the last segment if all are empty. */
static bool
last_with_lines(int dir, uint64_t *base)
{
	uint64_t size = 0, before;

	if (!segment_find(dir, INT64_MAX, SEGMENT_AT_OR_BEFORE, base))
		return false;
	before = *base;
	for (;;) {
		int fd = segment_open(dir, before, O_RDONLY);

		if (fd < 0 || !segment_size(fd, &size))
			return false;
		close(fd);
		if (size > 0)
			*base = before;
		if (size > 0 || before == 0 || !segment_find(dir, before - 1, SEGMENT_AT_OR_BEFORE, &before))
			return true;
	}
}

/*
 * Writes the bytes of a segment from s->begin to s->valid_end again, in place. They may be left
 * from a failed sync: the kernel may then take them for written although they are not on disk.
 * Writing them again makes the next sync store them. Then it cuts the segment at s->valid_end
 * and syncs it. A segment with a successor becomes read-only (0400), which finishes it, and is
 * removed if no byte is left. The last segment stays writable (0600) and is kept even if it is
 * empty.
 */
static bool
rewrite_segment(int dir, uint64_t base, const struct scan *s, bool last)
{
	static char block[BLOCK];
	int fd = segment_reopen(dir, base);
	uint64_t limit = 0, from = s->begin > base ? s->begin : base;
	bool fine = fd >= 0 && limit_of(dir, fd, base, &limit);

	for (uint64_t end = limit < s->valid_end ? limit : s->valid_end; fine && from < end; from += BLOCK) {
		size_t n = end - from < BLOCK ? (size_t)(end - from) : BLOCK;

		fine = pread(fd, block, n, (off_t)(from - base)) == (ssize_t)n && pwrite(fd, block, n, (off_t)(from - base)) == (ssize_t)n;
	}
	if (fine && limit > s->valid_end)
		fine = ftruncate(fd, s->valid_end > base ? (off_t)(s->valid_end - base) : 0) == 0;
	fine = fine && fdatasync(fd) == 0 && fchmod(fd, last ? 0600 : 0400) == 0;
	if (fd >= 0)
		close(fd);
	if (fine && !last && s->valid_end <= base)
		fine = segment_remove(dir, base);
	return fine;
}

/* Rewrites the segment with this base, and all later ones. */
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

/*
 * Opens the segment for the next line. Offsets before unused may have been given to lines, even
 * to lines that are lost, and must not be used again. The last segment gets the next line in two
 * cases:
 *
 *	- there is no torn tail, and no offset after the segment's end was ever used;
 *	- the segment is empty, and starts at unused or later.
 *
 * Otherwise it is finished, and a new segment starts at unused.
 */
static bool
open_last(struct log *l, const struct scan *s, const struct saved_ends *saved)
{
	uint64_t unused = s->data_end, base, size;

	if (saved->end > unused)
		unused = saved->end;
	if (saved->committed > unused)
		unused = saved->committed;
	if (!segment_find(l->dir, INT64_MAX, SEGMENT_AT_OR_BEFORE, &base) || !log_take_segment(l, base) || !segment_size(l->segment, &size))
		return false;
	if ((s->valid_end == s->data_end && unused <= base + size) || (size == 0 && base >= unused))
		return true;
	return log_next_segment(l, unused);
}

static bool
has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0;
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
		if (has_suffix(file->d_name, ".tmp"))
			fine = unlinkat(dir, file->d_name, 0) == 0;
	if (list != NULL)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	return fine;
}

/* Makes a new id for the room. */
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

/* Gets the room's id from the first line of the oldest segment. Returns false if that line is
 * missing or damaged; later lines are not tried. */
static bool
id_of_first_line(int dir, char id[STORED_ID])
{
	char text[STORED_MAX];
	uint64_t base;
	int fd;
	ssize_t n;
	const char *end;

	if (!segment_find(dir, 0, SEGMENT_AT_OR_BEFORE, &base) && !segment_find(dir, 0, SEGMENT_AFTER, &base))
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

/* Creates the file "id" if it is missing, with the id of the first line or a new one. */
static bool
make_id(int dir)
{
	char text[STORED_ID + 1];
	int fd = openat(dir, "id", O_RDONLY | O_CLOEXEC);
	bool fine;

	if (fd >= 0)
		return close(fd) == 0;
	if (errno != ENOENT || (!id_of_first_line(dir, text) && !random_id(text)))
		return false;
	text[STORED_ID] = '\n';
	fd = openat(dir, "id.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fine = fd >= 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return fine && renameat(dir, "id.tmp", dir, "id") == 0 && fsync(dir) == 0;
}

/* Reads COMMITTED and END. An offset of offset_max or more counts as 0. Returns false, with both
 * offsets 0, if the file is too short to hold them, as it is when it has just been created. */
static bool
read_ends(const struct log *l, struct saved_ends *saved)
{
	bool has_content = pread(l->sync, saved, sizeof *saved, 0) == (ssize_t)sizeof *saved;

	if (!has_content || saved->committed >= offset_max)
		saved->committed = 0;
	if (!has_content || saved->end >= offset_max)
		saved->end = 0;
	return has_content;
}

/* Stores the same offset as COMMITTED and END: everything before it is on disk, and the next line
 * is written there. If the file was not mapped yet, it is written, synced and mapped. */
static bool
store_ends(struct log *l, uint64_t at)
{
	struct saved_ends both = { .committed = at, .end = at };

	if (l->ends == MAP_FAILED)
		return pwrite(l->sync, &both, sizeof both, 0) == (ssize_t)sizeof both && fsync(l->sync) == 0 && log_map_ends(l);
	atomic_store(&l->ends->end, at);
	atomic_store(&l->ends->committed, at);
	return true;
}

/* Creates the first segment if there is none. Its base is the larger of COMMITTED and END, because
 * the offsets before may have been used by segments that are lost. */
static bool
make_first(struct log *l, const struct saved_ends *saved)
{
	uint64_t base;
	int fd;

	if (segment_find(l->dir, INT64_MAX, SEGMENT_AT_OR_BEFORE, &base))
		return true;
	fd = segment_make(l->dir, saved->committed > saved->end ? saved->committed : saved->end);
	return fd >= 0 && close(fd) == 0;
}

/* Cuts the zeros at the end of the last segment, which are no torn tail, and gets the offset of its
 * end. Its mode keeps writers away until rewrite_segment has synced it. */
static bool
cut_padding(int dir, uint64_t *end)
{
	uint64_t base, size, data;
	int fd;
	bool fine;

	if (!segment_find(dir, INT64_MAX, SEGMENT_AT_OR_BEFORE, &base) || (fd = segment_open(dir, base, O_RDONLY)) < 0)
		return false;
	fine = segment_size(fd, &size) && segment_data_size(fd, &data);
	close(fd);
	*end = base + data;
	if (!fine || size == data)
		return fine;
	fd = segment_reopen(dir, base);
	fine = fd >= 0 && ftruncate(fd, (off_t)data) == 0;
	if (fd >= 0)
		close(fd);
	return fine;
}

/* Gets the offset where reading starts, and the base of its segment: COMMITTED if it is known
 * and a line may start there, otherwise the start of the last segment that is not empty. */
static bool
find_begin(struct log *l, bool known, uint64_t committed, uint64_t *begin, uint64_t *base)
{
	if (known && is_line_start(l->dir, committed)) {
		*begin = committed;
		return segment_find(l->dir, committed, SEGMENT_AT_OR_BEFORE, base);
	}
	if (!last_with_lines(l->dir, base))
		return false;
	*begin = *base;
	return true;
}

bool
log_recover(struct log *l, struct log_recovery *found)
{
	uint64_t base, size, end;
	struct saved_ends saved;
	struct scan s = { 0 };
	bool has_ends = read_ends(l, &saved);

	memset(found, 0, sizeof *found);
	if (!remove_temporary(l->dir) || !make_id(l->dir) || !make_first(l, &saved) || !cut_padding(l->dir, &end))
		return false;
	if (!last_with_lines(l->dir, &s.hole_from))
		return false;
	if (end > TORN_MAX && end - TORN_MAX > s.hole_from)
		s.hole_from = end - TORN_MAX;
	if (saved.committed > s.hole_from)
		s.hole_from = saved.committed;
	if (!find_begin(l, has_ends, saved.committed, &s.begin, &base) || !scan_all(l->dir, base, &s))
		return false;
	found->cut = s.data_end - s.valid_end;
	found->bad = s.bad_inside;
	found->missing = has_ends && saved.committed > s.data_end ? saved.committed - s.data_end : 0;
	if (!open_last(l, &s, &saved) || !rewrite(l, base, &s) || !segment_size(l->segment, &size) || fsync(l->dir) != 0)
		return false;
	return store_ends(l, l->base + size);
}

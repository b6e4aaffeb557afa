#include "reader.h"

#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 16384 };

/* Maps the ends of the log. They have no meaning in a file that is too short. */
static bool
map_ends(struct reader *r, int fd)
{
	struct stat s;

	if (fstat(fd, &s) != 0)
		return false;
	if (s.st_size < (off_t)sizeof *r->ends) {
		errno = EINVAL;
		return false;
	}
	r->ends = mmap(NULL, sizeof *r->ends, PROT_READ, MAP_SHARED, fd, 0);
	return r->ends != MAP_FAILED;
}

bool
reader_open(struct reader *r, int data, const char *path, uint64_t position)
{
	int fd, error;
	bool fine;

	*r = (struct reader){ .dir = -1, .segment = -1, .position = position, .ends = MAP_FAILED };
	r->dir = openat(data, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = r->dir < 0 ? -1 : openat(r->dir, "committed", O_RDONLY | O_CLOEXEC);
	fine = fd >= 0 && map_ends(r, fd);
	error = errno;
	if (fd >= 0)
		close(fd);
	if (!fine)
		reader_close(r);
	errno = error;
	return fine;
}

static void
close_segment(struct reader *r)
{
	if (r->segment >= 0)
		close(r->segment);
	r->segment = -1;
}

void
reader_close(struct reader *r)
{
	int error = errno;

	close_segment(r);
	if (r->ends != MAP_FAILED)
		munmap((void *)(uintptr_t)r->ends, sizeof *r->ends);
	if (r->dir >= 0)
		close(r->dir);
	r->dir = -1;
	r->ends = MAP_FAILED;
	errno = error;
}

uint64_t
reader_committed(const struct reader *r)
{
	return atomic_load(&((struct log_ends *)(uintptr_t)r->ends)->committed);
}

static bool
open_segment(struct reader *r, uint64_t base)
{
	close_segment(r);
	r->segment = segment_open(r->dir, base, O_RDONLY);
	r->base = base;
	if (!segment_find(r->dir, base, SEGMENT_AFTER, &r->limit))
		r->limit = UINT64_MAX;
	return r->segment >= 0;
}

/* Opens the segment with the position, or the first one after it. */
static bool
open_here(struct reader *r)
{
	uint64_t base;

	if (!segment_find(r->dir, r->position, SEGMENT_AT_OR_BEFORE, &base) &&
	    !segment_find(r->dir, r->position, SEGMENT_AFTER, &base))
		return false;
	if (base > r->position)
		r->position = base; /* older segments were removed */
	return open_segment(r, base);
}

/* Opens the next segment. Returns false if there is none. */
static bool
open_next(struct reader *r)
{
	uint64_t base;

	if (!segment_find(r->dir, r->base, SEGMENT_AFTER, &base))
		return false;
	r->position = base;
	return open_segment(r, base);
}

/* Reads once within the segment. Returns 0 at its end. */
static ssize_t
read_here(struct reader *r, char *buffer, size_t capacity, uint64_t until)
{
	uint64_t end = r->limit < until ? r->limit : until;
	size_t n = end <= r->position ? 0 : end - r->position < capacity ? (size_t)(end - r->position) : capacity;
	ssize_t got;

	if (n == 0)
		return 0;
	do
		got = pread(r->segment, buffer, n, (off_t)(r->position - r->base));
	while (got < 0 && errno == EINTR);
	return got;
}

/* Returns the length of the whole lines in n bytes. Bytes without an LF that are too long for a
 * line count as a line, which the caller rejects. */
static size_t
whole_lines(const char *buffer, size_t n)
{
	size_t end = n;

	while (end > 0 && buffer[end - 1] != '\n')
		end--;
	return end > 0 || n < STORED_MAX ? end : n;
}

long
reader_read(struct reader *r, char *buffer, size_t capacity, uint64_t until, uint64_t *first)
{
	/* the segment was reopened by its name: a redaction replaces the file, and the new one then
	 * grows */
	bool again = false;

	if (r->segment < 0 && r->position < until && !open_here(r))
		return -1;
	while (r->position < until) {
		ssize_t n = read_here(r, buffer, capacity, until);
		size_t lines = n > 0 ? whole_lines(buffer, (size_t)n) : 0;

		if (n < 0)
			return -1;
		*first = r->position;
		r->position += lines;
		if (lines > 0)
			return (long)lines;
		if (n == 0 && r->position < r->limit && !again) {
			again = true;
			if (open_segment(r, r->base))
				continue;
		}
		again = false;
		if (!open_next(r)) {
			if (n > 0 || r->limit == UINT64_MAX)
				return 0;
		}
	}
	return 0;
}

/* Searches backwards for the count-th LF before the offset end. Returns how many are still
 * missing. */
static unsigned long
back_in_segment(struct reader *r, uint64_t end, unsigned long count)
{
	char block[BLOCK];

	while (end > r->base) {
		size_t n = end - r->base < BLOCK ? (size_t)(end - r->base) : BLOCK;
		ssize_t got = pread(r->segment, block, n, (off_t)(end - n - r->base));

		if (got != (ssize_t)n)
			break;
		for (size_t i = n; i-- > 0;)
			if (block[i] == '\n' && count-- == 0) {
				r->position = end - n + i + 1;
				return 0;
			}
		end -= n;
	}
	r->position = r->base;
	return count == 0 ? 0 : count;
}

/* Returns the end of the open segment's lines: not after the next segment's base, nor before. */
static uint64_t
end_here(const struct reader *r, uint64_t before)
{
	uint64_t size = 0, end = before < r->limit ? before : r->limit;

	if (!segment_size(r->segment, &size))
		return r->base;
	return r->base + size < end ? r->base + size : end;
}

bool
reader_back(struct reader *r, uint64_t before, unsigned long count)
{
	uint64_t base = before;

	r->position = before;
	while (count > 0 && segment_find(r->dir, base - (base > 0), SEGMENT_AT_OR_BEFORE, &base)) {
		if (!open_segment(r, base))
			return false;
		count = back_in_segment(r, end_here(r, before), count);
		if (base == 0)
			break;
	}
	return true;
}

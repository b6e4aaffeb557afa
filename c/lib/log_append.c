/* Steps 1 to 5 of docs/protocol.md, "Appending". */
#include "log.h"

#include "segment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The time of the last line before end, 0 when there is none: somebody else wrote it. */
static uint64_t
read_last_time(const struct log *l, uint64_t end)
{
	char tail[STORED_MAX];
	size_t n = end - l->base < STORED_MAX ? (size_t)(end - l->base) : STORED_MAX;
	size_t first;
	struct slice line;
	uint64_t ms = 0;

	if (n == 0 || pread(l->segment, tail, n, (off_t)(end - l->base - n)) != (ssize_t)n)
		return 0;
	for (first = n - 1; first > 0 && tail[first - 1] != '\n'; first--)
		continue;
	line = (struct slice){ tail + first, n - first };
	return stored_whole(line, end - n + first) && stored_time(line, &ms) ? ms : 0;
}

static uint64_t
time_of_batch(const struct log *l, const struct log_batch *b, uint64_t end)
{
	uint64_t last = end > 0 && atomic_load(&l->shared->last_end) == end ? atomic_load(&l->shared->last_ms) : read_last_time(l, end);

	return last > b->now_ms ? last : b->now_ms;
}

/* Whether the open segment is the one to write to, and ends where END says. */
static bool
in_order(const struct log *l)
{
	uint64_t size;

	return l->segment >= 0 && !atomic_load(&l->shared->broken) && segment_in_use(l->segment, &size) && l->base + size == atomic_load(&l->ends->end);
}

/* Takes the write lock with the last segment open. When somebody went on to another, or died, the
 * log is brought in order first. */
static bool
take_write_lock(struct log *l)
{
	struct log_recovery found;
	uint64_t base;
	bool fine;

	if (!log_flock(l->lock))
		return false;
	if (in_order(l) || (segment_find(l->dir, INT64_MAX, SEGMENT_AT, &base) && log_take_segment(l, base) && in_order(l)))
		return true;
	log_unlock(l->lock); /* the sync lock comes first */
	if (!log_flock(l->sync))
		return false;
	fine = log_flock(l->lock);
	if (fine && !log_recover(l, &found)) {
		log_unlock(l->lock);
		fine = false;
	}
	log_unlock(l->sync);
	return fine;
}

/* Puts the lines of the batch together as if they began at first; their bytes, 0 when one or all
 * are too long. */
static size_t
format(const struct log *l, const struct log_batch *b, uint64_t first, uint64_t ms)
{
	size_t n = 0;

	for (size_t i = 0; i < b->count; i++) {
		size_t length = stored_write(b->scratch + n, b->room - n, l->id, first + n, ms, &b->entries[i]);

		if (length == 0)
			return 0;
		n += length;
	}
	return n;
}

/* Writes all or nothing: what a full disk took of it is cut off again. */
static bool
write_whole(struct log *l, const char *bytes, size_t n, uint64_t end)
{
	ssize_t w;
	int error;

	do
		w = pwrite(l->segment, bytes, n, (off_t)(end - l->base));
	while (w < 0 && errno == EINTR);
	if (w == (ssize_t)n)
		return true;
	error = w < 0 ? errno : ENOSPC;
	/* where it fails, END tells the next writer */
	(void)!ftruncate(l->segment, (off_t)(end - l->base));
	errno = error;
	return false;
}

/* A segment that is large enough is left for a new one. */
static bool
roll(struct log *l, uint64_t end)
{
	if (end - l->base < SEGMENT_BYTES)
		return true;
	return fdatasync(l->segment) == 0 && log_next_segment(l, end);
}

static bool
append_locked(struct log *l, const struct log_batch *b, uint64_t *first, uint64_t *end)
{
	uint64_t ms;
	size_t n;

	*first = atomic_load(&l->ends->end);
	ms = time_of_batch(l, b, *first);
	n = format(l, b, *first, ms);
	if (n == 0) {
		errno = EMSGSIZE;
		return false;
	}
	if (!roll(l, *first) || !write_whole(l, b->scratch, n, *first))
		return false;
	*end = *first + n;
	if (b->written != NULL)
		b->written(b->context, *first, *end);
	atomic_store(&l->shared->last_ms, ms);
	atomic_store(&l->shared->last_end, *end);
	atomic_store(&l->ends->end, *end);
	return true;
}

bool
log_append(struct log *l, const struct log_batch *b, uint64_t *first, uint64_t *end)
{
	bool fine;

	if (!take_write_lock(l))
		return false;
	fine = append_locked(l, b, first, end);
	log_unlock(l->lock);
	return fine;
}

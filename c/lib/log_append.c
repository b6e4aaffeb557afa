/* Steps 1 to 5 of docs/protocol.md, "Appending". */
#include "log.h"

#include "segment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Returns the time of the last line before end, which another process wrote; 0 if there is none. */
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

/* Reports whether the log is in order, after opening the last segment if another process has
 * rolled the log. */
static bool
is_in_order(struct log *l)
{
	uint64_t base;

	return log_in_order(l) || (segment_find(l->dir, INT64_MAX, SEGMENT_AT_OR_BEFORE, &base) && log_take_segment(l, base) && log_in_order(l));
}

/* Discards refused batches, which recovery would keep, and recovers the log if it is not in order
 * then. The caller holds both locks. */
static bool
restore(struct log *l)
{
	struct log_recovery found;

	if (atomic_load(&l->shared->broken) && !log_discard(l))
		return false;
	return is_in_order(l) || log_recover(l, &found);
}

/* Takes the write lock with the last segment open. If a batch was refused and not cut, or another
 * process died, the log is restored first. */
static bool
take_write_lock(struct log *l)
{
	bool fine;

	if (!log_flock(l->lock))
		return false;
	if (!atomic_load(&l->shared->broken) && is_in_order(l))
		return true;
	log_unlock(l->lock); /* lock order: the sync lock first */
	if (!log_flock(l->sync))
		return false;
	fine = log_flock(l->lock);
	if (fine && !restore(l)) {
		log_unlock(l->lock);
		fine = false;
	}
	log_unlock(l->sync);
	return fine;
}

/* Encodes the lines of the batch for the offset first. Returns their length, 0 if a line or all
 * together are too long. */
static size_t
format(const struct log *l, const struct log_batch *b, uint64_t first, uint64_t ms)
{
	size_t n = 0;

	for (size_t i = 0; i < b->count; i++) {
		size_t length = stored_write(b->scratch + n, b->capacity - n, l->id, first + n, ms, &b->entries[i]);

		if (length == 0)
			return 0;
		n += length;
	}
	return n;
}

/* Writes the whole batch or nothing: a partial write to a full disk is cut off again. */
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
	/* if it fails, the next writer sees that the segment does not end at END */
	(void)!ftruncate(l->segment, (off_t)(end - l->base));
	errno = error;
	return false;
}

/* Starts a new segment if the open one is large enough. The padding is cut first: a reader that has
 * the file open must find its end. A failed sync refuses the batches of other processes that wait
 * for theirs: the next sync may succeed without them. */
static bool
roll(struct log *l, uint64_t end)
{
	if (end - l->base < SEGMENT_BYTES)
		return true;
	if (ftruncate(l->segment, (off_t)(end - l->base)) != 0)
		return false;
	if (fdatasync(l->segment) != 0) {
		atomic_store(&l->shared->broken, true);
		return false;
	}
	return log_next_segment(l, end);
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
	log_pad(l, n, ms, *end);
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

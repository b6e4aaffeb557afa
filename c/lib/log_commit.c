/*
 * Steps 6 and 7 of docs/protocol.md, "Appending": group commit between processes. Each writer waits
 * for the sync lock. The process that gets it syncs everything written before. The others then find
 * their batches committed. A failed sync removes the batches it was for, which their writers see by
 * the length of the segment.
 */
#include "log.h"

#include "report.h"
#include "segment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Cuts a segment at COMMITTED, and removes it if nothing is left. */
static bool
cut(struct log *l, uint64_t base, uint64_t committed)
{
	uint64_t size;
	int fd = segment_reopen(l->dir, base);
	bool fine = fd >= 0 && segment_size(fd, &size);

	if (fine && base + size > committed)
		fine = ftruncate(fd, committed > base ? (off_t)(committed - base) : 0) == 0 && fdatasync(fd) == 0;
	fine = fine && segment_finish(fd);
	if (fd >= 0)
		close(fd);
	if (fine && committed <= base)
		fine = segment_remove(l->dir, base);
	return fine;
}

/* Opens the last segment, which an earlier try may have finished. */
static bool
take_last(struct log *l, uint64_t *base)
{
	int fd;

	if (!segment_find(l->dir, INT64_MAX, SEGMENT_AT_OR_BEFORE, base))
		return false;
	if (l->segment >= 0 && *base == l->base)
		return true;
	fd = segment_reopen(l->dir, *base);
	return fd >= 0 && close(fd) == 0 && log_take_segment(l, *base);
}

/* Makes a segment behind all offsets that were used the current one. An earlier try may have done
 * so. */
static bool
start_segment(struct log *l, uint64_t *end)
{
	uint64_t last, size;

	if (!take_last(l, &last) || !segment_cut_padding(l->segment, &size))
		return false;
	*end = atomic_load(&l->ends->end);
	if (last + size > *end)
		*end = last + size;
	if (last == *end ? !segment_use(l->segment) : !log_next_segment(l, *end))
		return false;
	atomic_store(&l->ends->end, *end);
	return true;
}

static bool
discard(struct log *l)
{
	uint64_t committed = atomic_load(&l->ends->committed), base = 0, end;

	if (!start_segment(l, &end))
		return false;
	if (!segment_find(l->dir, committed, SEGMENT_AT_OR_BEFORE, &base) && !segment_find(l->dir, committed, SEGMENT_AFTER, &base))
		return false;
	while (base < end) {
		if (!cut(l, base, committed) || !segment_find(l->dir, base, SEGMENT_AFTER, &base))
			return false;
	}
	atomic_store(&l->ends->committed, end);
	return true;
}

bool
log_discard(struct log *l)
{
	bool fine = discard(l);

	atomic_store(&l->shared->broken, !fine);
	if (!fine)
		report("the log of room %s accepts no messages: %s", l->id, strerror(errno));
	return fine;
}

/* Discards all uncommitted batches: after a failed sync it is unknown what is on disk. The next
 * sync may succeed without them. */
static void
discard_uncommitted(struct log *l)
{
	atomic_store(&l->shared->broken, true);
	if (!log_flock(l->lock))
		return;
	(void)log_discard(l);
	log_unlock(l->lock);
}

static enum log_commit
commit_locked(struct log *l, uint64_t end)
{
	/* END is read before the size: another process may roll the log now, which cuts the padding
	 * before it moves END into the next segment */
	uint64_t size, covered = atomic_load(&l->ends->end);

	if (!segment_size(l->segment, &size)) {
		discard_uncommitted(l); /* the next commit would include the batch */
		return LOG_LOST;
	}
	if (l->base + size < end)
		return LOG_LOST;
	if (atomic_load(&l->ends->committed) >= end)
		return LOG_COMMITTED;
	if (atomic_load(&l->shared->broken)) {
		discard_uncommitted(l);
		return LOG_LOST;
	}
	if (covered > l->base + size)
		covered = l->base + size;
	if (fdatasync(l->segment) != 0) {
		report("the log of room %s cannot be synced: %s; unacknowledged messages are discarded", l->id, strerror(errno));
		discard_uncommitted(l);
		return LOG_LOST;
	}
	atomic_store(&l->ends->committed, covered);
	return LOG_COMMITTED_US;
}

enum log_commit
log_commit(struct log *l, uint64_t end)
{
	enum log_commit how = LOG_LOST;

	lock_take(&l->shared->syncing);
	if (log_flock(l->sync)) {
		how = commit_locked(l, end);
		log_unlock(l->sync);
	} else {
		atomic_store(&l->shared->broken, true); /* the next commit would include the batch */
	}
	lock_release(&l->shared->syncing);
	return how;
}

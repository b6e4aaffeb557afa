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

static bool
discard_locked(struct log *l)
{
	uint64_t committed = atomic_load(&l->ends->committed), end = atomic_load(&l->ends->end), base = 0, size, last;

	if (!segment_find(l->dir, INT64_MAX, SEGMENT_AT_OR_BEFORE, &last) || (last != l->base && !log_take_segment(l, last)) || !segment_cut_padding(l->segment, &size))
		return false;
	if (last + size > end)
		end = last + size;
	if (!log_next_segment(l, end))
		return false;
	atomic_store(&l->ends->end, end);
	if (!segment_find(l->dir, committed, SEGMENT_AT_OR_BEFORE, &base) && !segment_find(l->dir, committed, SEGMENT_AFTER, &base))
		return false;
	while (base < end) {
		if (!cut(l, base, committed) || !segment_find(l->dir, base, SEGMENT_AFTER, &base))
			return false;
	}
	atomic_store(&l->ends->committed, end);
	return true;
}

/* Discards all uncommitted batches: after a failed sync it is unknown what is on disk. */
static void
discard_uncommitted(struct log *l)
{
	report("the log of room %s cannot be synced: %s; unacknowledged messages are discarded", l->id, strerror(errno));
	if (!log_flock(l->lock))
		return;
	if (!discard_locked(l)) {
		report("the log of room %s accepts no messages: %s", l->id, strerror(errno));
		atomic_store(&l->shared->broken, true);
	}
	log_unlock(l->lock);
}

static enum log_commit
commit_locked(struct log *l, uint64_t end)
{
	/* END is read before the size: another process may roll the log now, which cuts the padding
	 * before it moves END into the next segment */
	uint64_t size, covered = atomic_load(&l->ends->end);

	if (!segment_size(l->segment, &size))
		return LOG_LOST;
	if (l->base + size < end)
		return LOG_LOST;
	if (atomic_load(&l->ends->committed) >= end)
		return LOG_COMMITTED;
	if (covered > l->base + size)
		covered = l->base + size;
	if (fdatasync(l->segment) != 0) {
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
	}
	lock_release(&l->shared->syncing);
	return how;
}

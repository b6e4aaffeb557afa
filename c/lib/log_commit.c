/*
 * Steps 6 and 7 of docs/protocol.md, "Appending": group commit between processes. Whoever has written waits for
 * the sync lock; who gets it syncs for all that was written before; the others find on their turn that it is
 * done. A sync that fails takes away what it was for, which those that wait see by the length of their segment.
 */
#include "log.h"

#include "report.h"
#include "segment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Cuts a segment at COMMITTED, and removes it when nothing is left. False when there are no more of
 * them to cut. */
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
give_up_locked(struct log *l)
{
	uint64_t committed = atomic_load(&l->ends->committed), end = atomic_load(&l->ends->end), base = 0, size, last;

	if (!segment_find(l->dir, INT64_MAX, SEGMENT_AT, &last) || (last != l->base && !log_take_segment(l, last)) || !segment_size(l->segment, &size))
		return false;
	if (last + size > end)
		end = last + size;
	if (!log_next_segment(l, end))
		return false;
	atomic_store(&l->ends->end, end);
	if (!segment_find(l->dir, committed, SEGMENT_AT, &base) && !segment_find(l->dir, committed, SEGMENT_AFTER, &base))
		return false;
	while (base < end) {
		if (!cut(l, base, committed) || !segment_find(l->dir, base, SEGMENT_AFTER, &base))
			return false;
	}
	atomic_store(&l->ends->committed, end);
	return true;
}

/* A failed sync has said nothing about what is on the disk: all that was not committed is taken
 * back. */
static void
give_up(struct log *l)
{
	report("the log of room %s cannot be synced: %s; what was not acknowledged is taken back", l->id, strerror(errno));
	if (!log_flock(l->lock))
		return;
	if (!give_up_locked(l)) {
		report("the log of room %s takes no messages: %s", l->id, strerror(errno));
		atomic_store(&l->shared->broken, true);
	}
	log_unlock(l->lock);
}

static enum log_commit
commit_locked(struct log *l, uint64_t end)
{
	uint64_t size, covered;

	if (!segment_size(l->segment, &size))
		return LOG_LOST;
	if (l->base + size < end)
		return LOG_LOST;
	if (atomic_load(&l->ends->committed) >= end)
		return LOG_COMMITTED;
	covered = atomic_load(&l->ends->end);
	if (covered > l->base + size)
		covered = l->base + size;
	if (fdatasync(l->segment) != 0) {
		give_up(l);
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

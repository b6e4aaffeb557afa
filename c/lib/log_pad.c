/*
 * Padding (docs/protocol.md, "Padding"): in a busy room, zeros are written ahead of the lines. The
 * next batches overwrite them, and a sync need not write the inode.
 */
#include "log.h"

#include "segment.h"

#include <errno.h>
#include <unistd.h>

enum {
	SECOND_MS = 1000,
	BUSY_BATCHES = 8,           /* batches within a second from which on a room is busy */
	PADDING_MIN = 4 << 10,      /* a block of most file systems */
	PADDING_MAX = 64 << 10,     /* more zeros delay their batch, and save hardly another sync */
	BATCH_MAX = PADDING_MAX / 8 /* a larger batch would use the padding up at once */
};

/* Counts a batch of n bytes, whose lines have the time ms. */
static void
count_batch(struct log_shared *s, size_t n, uint64_t ms)
{
	if (ms < s->second || ms - s->second >= SECOND_MS) {
		s->second = ms;
		s->second_batches = 0;
		s->second_bytes = 0;
	}
	s->second_batches++;
	s->second_bytes += n;
}

/* Returns the number of zeros to write behind a batch of n bytes. It is proportional to the bytes
 * of this second, so that a room that becomes quiet leaves few. */
static size_t
padding_size(const struct log_shared *s, size_t n)
{
	uint64_t size = 4 * s->second_bytes;

	if (s->second_batches < BUSY_BATCHES || n > BATCH_MAX)
		return 0;
	return size < PADDING_MIN ? PADDING_MIN : size > PADDING_MAX ? PADDING_MAX : (size_t)size;
}

void
log_pad(struct log *l, size_t n, uint64_t ms, uint64_t end)
{
	static const char zeros[PADDING_MAX];
	size_t size;
	ssize_t w;

	count_batch(l->shared, n, ms);
	if (end <= l->file_end || (size = padding_size(l->shared, n)) == 0)
		return;
	l->padded = true;
	do
		w = pwrite(l->segment, zeros, size, (off_t)(end - l->base));
	while (w < 0 && errno == EINTR);
	if (w == (ssize_t)size)
		return;
	/* the disk is full: other rooms may need the space */
	(void)!ftruncate(l->segment, (off_t)(end - l->base));
	l->shared->second_batches = 0; /* not again for some batches */
}

bool
log_in_order(struct log *l)
{
	uint64_t size, end = atomic_load(&l->ends->end);
	char next;

	if (l->segment < 0 || !segment_in_use(l->segment, &size) || end < l->base || l->base + size < end)
		return false;
	l->file_end = l->base + size;
	return l->file_end == end || (pread(l->segment, &next, 1, (off_t)(end - l->base)) == 1 && next == '\0');
}

void
log_cut_own_padding(struct log *l)
{
	if (!l->padded || !log_try_flock(l->lock))
		return;
	if (log_in_order(l) && l->file_end > atomic_load(&l->ends->end))
		(void)!ftruncate(l->segment, (off_t)(atomic_load(&l->ends->end) - l->base));
	log_unlock(l->lock);
}

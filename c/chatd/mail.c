#include "mail.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { ALIGN = 8 };

static size_t
padded(size_t length)
{
	return (sizeof(struct mail_item) + length + ALIGN - 1) / ALIGN * ALIGN;
}

void
mail_init(struct mail *m)
{
	lock_init(&m->lock);
	sem_init(&m->emptied, 1, 0);
	atomic_store(&m->head, 0);
	atomic_store(&m->tail, 0);
	atomic_store(&m->waiting, 0);
}

/* Returns the bytes that an item takes from head on. They include the rest of the ring if the item
 * does not fit there. */
static size_t
takes(uint64_t head, size_t length)
{
	size_t left = MAIL_BYTES - head % MAIL_BYTES;
	size_t needs = padded(length);

	return needs <= left ? needs : left + needs;
}

uint64_t
mail_written(const struct mail *m)
{
	return atomic_load((_Atomic uint64_t *)(uintptr_t)&m->head);
}

uint64_t
mail_read(const struct mail *m)
{
	return atomic_load((_Atomic uint64_t *)(uintptr_t)&m->tail);
}

static bool
fits(const struct mail *m, uint64_t head, size_t length, uint64_t limit)
{
	uint64_t used = head - mail_read(m);

	return length <= MAIL_TEXT_MAX && used + takes(head, length) <= limit;
}

bool
mail_has_room(const struct mail *m, size_t length, uint64_t limit)
{
	return fits(m, mail_written(m), length, limit);
}

static void
put(struct mail *m, uint64_t head, const struct mail_item *item, struct slice text)
{
	size_t left = MAIL_BYTES - head % MAIL_BYTES;
	struct mail_item whole = *item;

	if (padded(text.length) > left) {
		struct mail_item skip = { .type = MAIL_SKIP };

		if (left >= sizeof skip)
			memcpy(m->ring + head % MAIL_BYTES, &skip, sizeof skip);
		head += left;
	}
	whole.length = (uint32_t)text.length;
	memcpy(m->ring + head % MAIL_BYTES, &whole, sizeof whole);
	if (text.length > 0)
		memcpy(m->ring + head % MAIL_BYTES + sizeof whole, text.at, text.length);
	atomic_store(&m->head, head + padded(text.length));
}

bool
mail_write(struct mail *m, const struct mail_item *item, struct slice text, uint64_t limit)
{
	uint64_t head;
	bool fine;

	lock_take(&m->lock); /* a writer that died has changed nothing visible: head is stored last */
	head = atomic_load(&m->head);
	fine = fits(m, head, text.length, limit);
	if (fine)
		put(m, head, item, text);
	lock_release(&m->lock);
	return fine;
}

void
mail_wait(struct mail *m, uint64_t read)
{
	struct timespec end;

	atomic_store(&m->waiting, 1);
	if (mail_read(m) != read) /* read meanwhile, without a notification */
		return;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec++;
	(void)sem_timedwait(&m->emptied, &end);
}

const struct mail_item *
mail_next(struct mail *m, struct slice *text)
{
	uint64_t tail = atomic_load(&m->tail);
	const struct mail_item *item;

	if (tail == atomic_load(&m->head))
		return NULL;
	item = (const void *)(m->ring + tail % MAIL_BYTES);
	if (MAIL_BYTES - tail % MAIL_BYTES < sizeof *item || item->type == MAIL_SKIP) {
		atomic_store(&m->tail, tail + MAIL_BYTES - tail % MAIL_BYTES);
		return mail_next(m, text);
	}
	*text = (struct slice){ (const char *)(item + 1), item->length };
	return item;
}

void
mail_done(struct mail *m)
{
	uint64_t tail = atomic_load(&m->tail);
	const struct mail_item *item = (const void *)(m->ring + tail % MAIL_BYTES);

	atomic_store(&m->tail, tail + padded(item->length));
	if (atomic_exchange(&m->waiting, 0) != 0)
		sem_post(&m->emptied);
}

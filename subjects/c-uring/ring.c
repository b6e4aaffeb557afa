#include "ring.h"

#include "die.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	REQUESTS = 1024,
	COMPLETIONS = 8192, /* more only cost the kernel a list */
};

int
ring_open(struct io_uring *ring)
{
	struct io_uring_params params = {
		/* Completions are processed when this thread asks for them, not whenever data comes. */
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
		.cq_entries = COMPLETIONS,
	};

	return io_uring_queue_init_params(REQUESTS, ring, &params);
}

int
ring_share(struct io_uring *ring, struct buffers *b)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (BUFFERS * sizeof(struct io_uring_buf) + page - 1) / page * page;
	struct io_uring_buf_reg registration = { .ring_entries = BUFFERS, .bgid = BUFFER_GROUP };

	b->ring = aligned_alloc(page, size);
	if (b->ring == NULL)
		return -ENOMEM;
	io_uring_buf_ring_init(b->ring);
	registration.ring_addr = (uint64_t)(uintptr_t)b->ring;
	for (uint16_t i = 0; i < BUFFERS; i++)
		ring_give_back(b, i);
	return io_uring_register_buf_ring(ring, &registration, 0);
}

void
ring_give_back(struct buffers *b, uint16_t i)
{
	io_uring_buf_ring_add(b->ring, b->data[i], READ_MAX, i, io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(b->ring, 1);
}

struct io_uring_sqe *
ring_request(struct io_uring *ring)
{
	struct io_uring_sqe *sqe;

	while ((sqe = io_uring_get_sqe(ring)) == NULL) {
		int error = io_uring_submit(ring);

		if (error < 0 && error != -EINTR && error != -EAGAIN && error != -EBUSY)
			die(EXIT_TROUBLE, "cannot use the ring: %s", strerror(-error));
	}
	return sqe;
}

/* An io_uring for one thread, and the buffers that its receives share. */
#ifndef RING_H
#define RING_H

#include "net.h"

#include <liburing.h>
#include <stdint.h>

enum {
	BUFFERS = 256, /* a power of two; of READ_MAX bytes each: 1 MiB stays in the cache */
	BUFFER_GROUP = 0,
};

struct buffers {
	struct io_uring_buf_ring *ring; /* those that the kernel may fill */
	char data[BUFFERS][READ_MAX];
};

/* Opens a ring. Returns 0 or a negative error: -EINVAL where the kernel is older than Linux 6.1. */
int ring_open(struct io_uring *ring);

/* Gives all buffers to the kernel. Returns 0 or a negative error. */
int ring_share(struct io_uring *ring, struct buffers *b);

/* Gives buffer i back to the kernel. */
void ring_give_back(struct buffers *b, uint16_t i);

/* An empty request, submitted with the next wait; or at once, when the ring is full of them. */
struct io_uring_sqe *ring_request(struct io_uring *ring);

#endif

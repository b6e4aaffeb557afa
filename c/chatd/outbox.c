#include "outbox.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* Waits until the client reads. Returns false after the time limit. A signal ends the wait early
 * and may have set hurry. */
static bool
wait_for_client(const struct outbox *o)
{
	struct pollfd full = { .fd = o->fd, .events = POLLOUT };
	int n = poll(&full, 1, o->hurry ? OUTBOX_LAST_MS : OUTBOX_TIMEOUT_MS);

	return n > 0 || (n < 0 && errno == EINTR);
}

void
outbox_flush(struct outbox *o)
{
	const char *at = o->bytes;
	size_t left = o->length;

	while (left > 0 && !o->failed) {
		ssize_t n = send(o->fd, at, left, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0) {
			at += n;
			left -= (size_t)n;
			o->written += (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			o->failed = !wait_for_client(o);
		} else if (errno != EINTR) {
			o->failed = true;
		}
	}
	o->length = 0;
}

char *
outbox_room(struct outbox *o, size_t n)
{
	if (OUTBOX_BYTES - o->length < n)
		outbox_flush(o);
	return o->bytes + o->length;
}

void
outbox_add(struct outbox *o, struct slice bytes)
{
	memcpy(outbox_room(o, bytes.length), bytes.at, bytes.length);
	o->length += bytes.length;
}

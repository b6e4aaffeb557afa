/*
 * A completion ring (io_uring): one thread submits reads and writes of all connections to one ring
 * and gets their results from another, with one system call for all that is due at a time.
 *
 * Bytes travel in chunks. A plain sink keeps a multishot receive on each connection, into buffers
 * that the connections share; each chunk is one of them. With echo or waiting, a connection must
 * not read while it holds bytes. So it has one chunk of its own, and the next receive into it is
 * submitted when the chunk is passed on. A connection passes on its chunks one after the other.
 *
 * Limitations: needs Linux 6.1 and liburing 2.3. If standard output is a file, ordinary calls write
 * it: the ring would not guard the file's position.
 */
#include "die.h"
#include "list.h"
#include "net.h"
#include "options.h"
#include "ring.h"
#include "work.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t drain_ns = 1000000000;

/*
 * The kind of a completion: the low bits of its user data, which starts with the connection's
 * address.
 */
enum operation { RECEIVE, WRITE, WAIT, ACCEPT, RESUME, SIGNAL, CANCEL, OPERATIONS = 8 };

struct chunk {
	struct chunk *next; /* in connection.chunks */
	char *data;
	uint32_t from; /* what is not passed on yet */
	uint32_t end;
};

struct connection {
	struct link all;     /* in server.connections */
	struct link starved; /* in server.starved, or in no list */
	int fd;
	uint32_t part;         /* bytes of the unfinished message */
	struct chunk *chunks;  /* to be passed on; the first is being written, or waits */
	struct chunk own;      /* the only one, unless the buffers are shared */
	bool waits;            /* for its time (--wait-ms) */
	bool ended;            /* nothing more will be received */
	struct __kernel_timespec wait;
};

struct server {
	struct options options;
	bool shares;   /* a plain sink: shared buffers, receives always armed */
	bool prints;   /* by ordinary calls: standard output is a file */
	bool stopping;
	int listener;
	int signals;
	size_t delivering; /* connections with chunks */
	struct link connections;
	struct link starved; /* connections for which there was no shared buffer */
	struct io_uring ring;
	struct buffers buffers;
	struct chunk chunks[BUFFERS]; /* one for each shared buffer */
};

static void
tag(struct io_uring_sqe *sqe, enum operation operation, struct connection *c)
{
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)c | operation);
}

static void
receive(struct server *s, struct connection *c)
{
	struct io_uring_sqe *sqe = ring_request(&s->ring);

	if (s->shares) {
		io_uring_prep_recv_multishot(sqe, c->fd, NULL, 0, 0);
		sqe->flags |= IOSQE_BUFFER_SELECT;
		sqe->buf_group = BUFFER_GROUP;
	} else {
		io_uring_prep_recv(sqe, c->fd, c->own.data, READ_MAX, 0);
	}
	tag(sqe, RECEIVE, c);
}

static void
open_connection(struct server *s, int fd)
{
	struct connection *c = calloc(1, sizeof *c);

	if (c != NULL && !s->shares)
		c->own.data = malloc(READ_MAX);
	if (c == NULL || (!s->shares && c->own.data == NULL))
		die(EXIT_TROUBLE, "out of memory");
	c->fd = fd;
	list_insert(&s->connections, &c->all);
	net_nodelay(fd);
	receive(s, c);
}

static void
close_if_done(struct connection *c)
{
	if (!c->ended || c->chunks != NULL)
		return;
	list_remove(&c->all);
	close(c->fd);
	free(c->own.data);
	free(c);
}

/* No shared buffer was left: the connection gets the next one that is returned. */
static void
starve(struct server *s, struct connection *c)
{
	if (s->delivering == 0) {
		receive(s, c); /* all have come back in the meantime */
	} else {
		list_insert(&s->starved, &c->starved);
	}
}

static void
feed_starved(struct server *s)
{
	struct link *l = s->starved.next;

	if (list_empty(&s->starved))
		return;
	list_remove(l);
	receive(s, list_element(l, struct connection, starved));
}

/* The first chunk of c is passed on. */
static void
finish_chunk(struct server *s, struct connection *c)
{
	struct chunk *done = c->chunks;

	c->chunks = done->next;
	if (c->chunks == NULL)
		s->delivering--;
	if (s->shares) {
		ring_give_back(&s->buffers, (uint16_t)(done - s->chunks));
		feed_starved(s);
	} else if (!c->ended) {
		receive(s, c);
	}
}

/* Passes on the first chunk of c; the next chunks follow at its completion. */
static void
deliver(struct server *s, struct connection *c)
{
	struct io_uring_sqe *sqe;

	while (s->prints && c->chunks != NULL) {
		net_print(c->chunks->data, c->chunks->end);
		finish_chunk(s, c);
	}
	if (c->chunks == NULL)
		return;
	sqe = ring_request(&s->ring);
	if (s->options.echo)
		io_uring_prep_send(sqe, c->fd, c->chunks->data + c->chunks->from,
		    c->chunks->end - c->chunks->from, MSG_NOSIGNAL);
	else
		io_uring_prep_write(sqe, STDOUT_FILENO, c->chunks->data + c->chunks->from,
		    c->chunks->end - c->chunks->from, (uint64_t)-1);
	tag(sqe, WRITE, c);
}

static void
start_wait(struct server *s, struct connection *c, uint64_t ns)
{
	struct io_uring_sqe *sqe = ring_request(&s->ring);

	c->waits = true;
	c->wait.tv_sec = (long long)(ns / 1000000000);
	c->wait.tv_nsec = (long long)(ns % 1000000000);
	io_uring_prep_timeout(sqe, &c->wait, 0, 0);
	tag(sqe, WAIT, c);
}

static void
handle(struct server *s, struct connection *c, struct chunk *arrived, uint32_t length)
{
	uint64_t wait_ns = work_handle(&s->options, &c->part, length);
	struct chunk **last = &c->chunks;
	bool first = c->chunks == NULL;

	arrived->next = NULL;
	arrived->from = 0;
	arrived->end = length;
	while (*last != NULL)
		last = &(*last)->next;
	*last = arrived;
	if (!first)
		return; /* its turn comes */
	s->delivering++;
	if (wait_ns > 0 && !s->stopping)
		start_wait(s, c, wait_ns);
	else
		deliver(s, c);
}

static void
received(struct server *s, struct connection *c, const struct io_uring_cqe *cqe)
{
	bool armed = (cqe->flags & IORING_CQE_F_MORE) != 0;

	if (cqe->res > 0) {
		handle(s, c, s->shares ? &s->chunks[cqe->flags >> IORING_CQE_BUFFER_SHIFT] : &c->own,
		    (uint32_t)cqe->res);
		if (s->shares && !armed)
			receive(s, c);
	} else if (cqe->res == -ENOBUFS) {
		starve(s, c);
	} else if (cqe->res == -EINTR || cqe->res == -EAGAIN) {
		receive(s, c);
	} else {
		c->ended = true;
		close_if_done(c);
		/* it may have been resumed without taking a buffer, whose return would resume the next */
		feed_starved(s);
	}
}

static void
written(struct server *s, struct connection *c, int result)
{
	struct chunk *chunk = c->chunks;

	if (result >= 0) {
		chunk->from += (uint32_t)result;
	} else if (result != -EINTR && result != -EAGAIN) {
		if (!s->options.echo)
			die(EXIT_TROUBLE, "cannot write to standard output: %s", strerror(-result));
		c->ended = true; /* the peer is gone: what it doesn't take is lost */
		chunk->from = chunk->end;
	}
	if (chunk->from == chunk->end)
		finish_chunk(s, c);
	deliver(s, c);
	close_if_done(c);
}

static void
accept_more(struct server *s)
{
	struct io_uring_sqe *sqe = ring_request(&s->ring);

	io_uring_prep_multishot_accept(sqe, s->listener, NULL, NULL, 0);
	tag(sqe, ACCEPT, NULL);
}

static void
pause_accepting(struct server *s)
{
	static struct __kernel_timespec rest = { .tv_nsec = ACCEPT_PAUSE_MS * 1000000 };
	struct io_uring_sqe *sqe = ring_request(&s->ring);

	io_uring_prep_timeout(sqe, &rest, 0, 0);
	tag(sqe, RESUME, NULL);
}

static void
accepted(struct server *s, const struct io_uring_cqe *cqe)
{
	if (cqe->res >= 0)
		open_connection(s, cqe->res);
	if ((cqe->flags & IORING_CQE_F_MORE) != 0 || s->stopping)
		return;
	if (cqe->res >= 0 || net_accept_again(-cqe->res))
		accept_more(s);
	else
		pause_accepting(s);
}

static void
cancel_wait(struct server *s, struct connection *c)
{
	struct io_uring_sqe *sqe = ring_request(&s->ring);

	io_uring_prep_timeout_remove(sqe, (uint64_t)(uintptr_t)c | WAIT, 0);
	tag(sqe, CANCEL, NULL);
}

static void
start_draining(struct server *s)
{
	struct io_uring_sqe *sqe = ring_request(&s->ring);

	s->stopping = true;
	io_uring_prep_cancel64(sqe, ACCEPT, 0);
	tag(sqe, CANCEL, NULL);
	close(s->listener);
	for (struct link *l = s->connections.next; l != &s->connections; l = l->next) {
		struct connection *c = list_element(l, struct connection, all);

		if (c->waits) /* stopping in time is worth more than waiting */
			cancel_wait(s, c);
	}
}

static void
complete(struct server *s, const struct io_uring_cqe *cqe)
{
	uint64_t data = io_uring_cqe_get_data64(cqe);
	struct connection *c = (struct connection *)(uintptr_t)(data & ~(uint64_t)(OPERATIONS - 1));

	switch ((enum operation)(data & (OPERATIONS - 1))) {
	case RECEIVE:
		received(s, c, cqe);
		break;
	case WRITE:
		written(s, c, cqe->res);
		break;
	case WAIT:
		c->waits = false;
		deliver(s, c);
		close_if_done(c);
		break;
	case ACCEPT:
		accepted(s, cqe);
		break;
	case RESUME:
		if (!s->stopping)
			accept_more(s);
		break;
	case SIGNAL:
		start_draining(s);
		break;
	default:
		break; /* a cancellation: what it cancelled completes by itself */
	}
}

/* Handles the pending completions; returns how many. */
static unsigned
complete_all(struct server *s)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&s->ring, head, cqe) {
		complete(s, cqe);
		n++;
	}
	io_uring_cq_advance(&s->ring, n);
	return n;
}

/*
 * Drains: runs until the kernel has no more completions and everything is passed on, or the
 * deadline.
 */
static void
drain(struct server *s)
{
	uint64_t deadline = work_now() + drain_ns;

	for (uint64_t now = work_now(); now < deadline; now = work_now()) {
		struct __kernel_timespec left = { .tv_nsec = (long long)(deadline - now) % 1000000000 };
		struct io_uring_cqe *cqe;

		io_uring_submit_and_get_events(&s->ring);
		if (complete_all(s) > 0)
			continue;
		if (s->delivering == 0)
			return;
		io_uring_submit_and_wait_timeout(&s->ring, &cqe, 1, &left, NULL);
	}
}

static void
watch_signals(struct server *s)
{
	struct io_uring_sqe *sqe = ring_request(&s->ring);
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	s->signals = signalfd(-1, &stop, 0);
	if (s->signals < 0)
		die(EXIT_TROUBLE, "cannot watch signals: %s", strerror(errno));
	io_uring_prep_poll_add(sqe, s->signals, POLLIN);
	tag(sqe, SIGNAL, NULL);
}

static void
open_server(struct server *s)
{
	struct stat out;
	int error = ring_open(&s->ring);

	if (error == 0)
		error = ring_share(&s->ring, &s->buffers);
	if (error != 0)
		die(EXIT_TROUBLE, "needs io_uring of Linux 6.1 or later, which this kernel refuses: %s",
		    strerror(-error));
	for (int i = 0; i < BUFFERS; i++)
		s->chunks[i].data = s->buffers.data[i];
	s->shares = !s->options.echo && s->options.wait_ms == 0;
	s->prints = !s->options.echo && fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode);
	list_init(&s->connections);
	list_init(&s->starved);
	watch_signals(s);
	s->listener = net_listen(&s->options);
	accept_more(s);
}

int
main(int argc, char **argv)
{
	static struct server s;

	s.options = options_parse(argc, argv);
	open_server(&s);
	while (!s.stopping) {
		int error = io_uring_submit_and_wait(&s.ring, 1);

		if (error < 0 && error != -EINTR && error != -EAGAIN && error != -EBUSY)
			die(EXIT_TROUBLE, "cannot use the ring: %s", strerror(-error));
		complete_all(&s);
	}
	drain(&s);
	io_uring_queue_exit(&s.ring);
	return 0;
}

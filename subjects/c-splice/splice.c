/*
 * The lower bound: the least work that a server can do with the bytes of its connections. One
 * thread waits in epoll_wait. For each ready connection the kernel moves up to 4,096 bytes into a
 * pipe, and once for each batch from the pipe to standard output. The program never sees a byte and
 * keeps no state of a connection.
 *
 * Limitations: no echo; work and waiting are ignored. If standard output supports no splice (a file
 * opened for appending) the bytes are copied. A slow reader of standard output delays all
 * connections.
 */
#include "die.h"
#include "net.h"
#include "options.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	EVENTS = 256,
	PIPE_BYTES = EVENTS * READ_MAX, /* room for what a batch moves */
};

static const uint64_t drain_ns = 1000000000;

struct floor {
	int epoll;
	int listener;
	int signals;
	int in, out;        /* of the pipe */
	size_t filled;      /* bytes in the pipe */
	bool copies;        /* standard output takes no splice */
	bool stopping;
	uint64_t accept_at; /* when to accept again, after a pause; 0: now */
};

static void
watch(struct floor *f, int fd, int operation)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(f->epoll, operation, fd, &e) != 0)
		die(EXIT_TROUBLE, "cannot watch a descriptor: %s", strerror(errno));
}

static ssize_t
copy_out(struct floor *f)
{
	char data[READ_MAX];
	ssize_t n = read(f->out, data, sizeof data);

	if (n > 0)
		net_print(data, (size_t)n);
	return n;
}

static void
empty_pipe(struct floor *f)
{
	while (f->filled > 0) {
		ssize_t n = f->copies ? copy_out(f) :
		    splice(f->out, NULL, STDOUT_FILENO, NULL, f->filled, SPLICE_F_MOVE);

		if (n > 0) {
			f->filled -= (size_t)n;
		} else if (n < 0 && errno == EINVAL && !f->copies) {
			f->copies = true;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd full = { .fd = STDOUT_FILENO, .events = POLLOUT };

			poll(&full, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			die(EXIT_TROUBLE, "cannot write to standard output: %s", strerror(errno));
		}
	}
}

static void
move(struct floor *f, int fd)
{
	ssize_t n = splice(fd, NULL, f->in, NULL, READ_MAX, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0)
		f->filled += (size_t)n;
	else if (n < 0 && errno == EAGAIN)
		empty_pipe(f); /* it was full, if the connection was not empty; epoll says so again */
	else if (n == 0 || errno != EINTR)
		close(fd);
}

static void
accept_one(struct floor *f)
{
	int fd = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK);

	if (fd >= 0) {
		net_nodelay(fd);
		watch(f, fd, EPOLL_CTL_ADD);
	} else if (!net_accept_again(errno)) {
		watch(f, f->listener, EPOLL_CTL_DEL);
		f->accept_at = work_now() + ACCEPT_PAUSE_MS * 1000000ull;
	}
}

static void
resume_accepting(struct floor *f)
{
	if (f->accept_at == 0 || work_now() < f->accept_at)
		return;
	f->accept_at = 0;
	watch(f, f->listener, EPOLL_CTL_ADD);
}

/* Returns false if no connection was ready in timeout milliseconds. */
static bool
turn(struct floor *f, int timeout)
{
	struct epoll_event ready[EVENTS];
	int n = epoll_wait(f->epoll, ready, EVENTS, timeout);

	for (int i = 0; i < n; i++) {
		int fd = ready[i].data.fd;

		if (fd == f->listener)
			accept_one(f);
		else if (fd == f->signals)
			f->stopping = true;
		else
			move(f, fd);
	}
	empty_pipe(f);
	return n > 0;
}

/*
 * Drains: runs until nothing is left to move, or for a second. The end of the process closes the
 * connections.
 */
static void
drain(struct floor *f)
{
	uint64_t deadline = work_now() + drain_ns;

	close(f->listener);
	close(f->signals);
	f->listener = f->signals = -1;
	while (turn(f, 0) && work_now() < deadline)
		continue;
}

static void
open_pipe(struct floor *f)
{
	int ends[2];

	if (pipe(ends) != 0)
		die(EXIT_TROUBLE, "cannot make a pipe: %s", strerror(errno));
	f->out = ends[0];
	f->in = ends[1];
	fcntl(f->in, F_SETPIPE_SZ, PIPE_BYTES); /* best effort: a smaller one is emptied more often */
}

static void
open_floor(struct floor *f, const struct options *o)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	f->signals = signalfd(-1, &stop, 0);
	f->epoll = epoll_create1(0);
	if (f->signals < 0 || f->epoll < 0)
		die(EXIT_TROUBLE, "cannot set up the event loop: %s", strerror(errno));
	open_pipe(f);
	f->listener = net_listen(o);
	net_nonblocking(f->listener);
	watch(f, f->signals, EPOLL_CTL_ADD);
	watch(f, f->listener, EPOLL_CTL_ADD);
}

int
main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	struct floor f = { 0 };

	if (o.echo)
		die(EXIT_USAGE, "the floor has no --workload echo, only sink");
	open_floor(&f, &o);
	while (!f.stopping) {
		turn(&f, f.accept_at != 0 ? ACCEPT_PAUSE_MS : -1);
		resume_accepting(&f);
	}
	drain(&f);
	return 0;
}

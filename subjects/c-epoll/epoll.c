/*
 * An event loop: one thread owns every connection and waits for all of them in epoll_wait.
 *
 * A connection is in one of three states. Reading: it holds no bytes. Waiting: it holds bytes that
 * are due at a time (--wait-ms). Writing: it holds bytes that its peer has no room for yet (echo).
 * The loop reads only from a reading connection, once for each event: epoll is level-triggered and
 * reports further input.
 *
 * Limitations: waits end on whole milliseconds, up to one late. A slow reader of standard output
 * delays all connections.
 */
#include "die.h"
#include "list.h"
#include "net.h"
#include "options.h"
#include "work.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256 };

static const uint64_t drain_ns = 1000000000;
static const uint64_t never = UINT64_MAX;

struct connection {
	struct link all;     /* in server.connections */
	struct link waiting; /* in server.waiting, while due is not 0 */
	int fd;
	uint32_t events; /* what epoll is asked for; 0: fd is not in it */
	uint32_t part;   /* bytes of the unfinished message */
	char *held;      /* bytes to be passed on; NULL while reading */
	size_t held_from;
	size_t held_end;
	uint64_t due; /* when held is to be passed on; 0 while not waiting */
};

struct server {
	struct options options;
	int epoll;
	int listener; /* -1 once draining */
	int signals;
	uint64_t accept_at; /* when to accept again, after a pause; 0: now */
	uint64_t deadline;  /* when draining ends at the latest; 0: not draining */
	size_t writing;     /* connections in that state */
	struct link connections;
	struct link waiting; /* ordered by due */
	char data[READ_MAX];
};

static void
watch(struct server *s, int fd, void *owner, int operation, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = owner };

	if (epoll_ctl(s->epoll, operation, fd, &e) != 0)
		die(EXIT_TROUBLE, "cannot watch a descriptor: %s", strerror(errno));
}

/* Registers c for EPOLLIN, EPOLLOUT, or 0 for no event, not even a hang-up. */
static void
want(struct server *s, struct connection *c, uint32_t events)
{
	if (c->events == events)
		return;
	watch(s, c->fd, c, c->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD, events);
	c->events = events;
}

static void
close_connection(struct server *s, struct connection *c)
{
	if (c->due != 0)
		list_remove(&c->waiting);
	else if (c->held != NULL)
		s->writing--;
	list_remove(&c->all);
	close(c->fd);
	free(c->held);
	free(c);
}

static void
hold(struct connection *c, const char *data, size_t length)
{
	c->held = malloc(length);
	if (c->held == NULL)
		die(EXIT_TROUBLE, "out of memory");
	memcpy(c->held, data, length);
	c->held_from = 0;
	c->held_end = length;
}

static void
let_go(struct connection *c)
{
	free(c->held);
	c->held = NULL;
}

/*
 * Holds data until wait_ns from now. epoll keeps watching: usually the wait is over before more
 * input comes.
 */
static void
wait_with(struct server *s, struct connection *c, const char *data, size_t length, uint64_t wait_ns)
{
	struct link *after = s->waiting.previous;

	hold(c, data, length);
	c->due = work_now() + wait_ns;
	while (after != &s->waiting && list_element(after, struct connection, waiting)->due > c->due)
		after = after->previous; /* rarely: waits are alike, so the newest is mostly last */
	list_insert(after, &c->waiting);
}

/*
 * Writes as much as the peer has room for; returns the bytes written, or -1 if the peer has gone.
 */
static ssize_t
try_write(int fd, const char *data, size_t length)
{
	ssize_t n;

	do
		n = write(fd, data, length);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	return n;
}

/* Passes on data of a connection in the state Reading. */
static void
deliver(struct server *s, struct connection *c, const char *data, size_t length)
{
	ssize_t n;

	if (!s->options.echo) {
		net_print(data, length);
		return;
	}
	n = try_write(c->fd, data, length);
	if (n < 0) {
		close_connection(s, c);
	} else if ((size_t)n < length) {
		hold(c, data + n, length - (size_t)n);
		s->writing++;
		want(s, c, EPOLLOUT);
	}
}

static void
read_once(struct server *s, struct connection *c)
{
	ssize_t n = read(c->fd, s->data, sizeof s->data);
	uint64_t wait_ns;

	if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		close_connection(s, c);
		return;
	}
	wait_ns = work_handle(&s->options, &c->part, (size_t)n);
	if (wait_ns > 0 && s->deadline == 0)
		wait_with(s, c, s->data, (size_t)n, wait_ns);
	else
		deliver(s, c, s->data, (size_t)n);
}

static void
write_more(struct server *s, struct connection *c)
{
	ssize_t n = try_write(c->fd, c->held + c->held_from, c->held_end - c->held_from);

	if (n < 0) {
		close_connection(s, c);
		return;
	}
	c->held_from += (size_t)n;
	if (c->held_from < c->held_end)
		return;
	let_go(c);
	s->writing--;
	want(s, c, EPOLLIN);
}

static void
end_wait(struct server *s, struct connection *c)
{
	char *data = c->held;

	list_remove(&c->waiting);
	c->due = 0;
	c->held = NULL;
	want(s, c, EPOLLIN);
	deliver(s, c, data, c->held_end);
	free(data);
}

static void
connection_ready(struct server *s, struct connection *c)
{
	if (c->due != 0)
		want(s, c, 0); /* more came during the wait: epoll would say so again and again */
	else if (c->held != NULL)
		write_more(s, c);
	else
		read_once(s, c);
}

static void
pause_accepting(struct server *s)
{
	watch(s, s->listener, NULL, EPOLL_CTL_DEL, 0);
	s->accept_at = work_now() + ACCEPT_PAUSE_MS * 1000000ull;
}

static void
accept_one(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK);
	struct connection *c;

	if (fd < 0) {
		if (!net_accept_again(errno))
			pause_accepting(s);
		return;
	}
	c = calloc(1, sizeof *c);
	if (c == NULL)
		die(EXIT_TROUBLE, "out of memory");
	c->fd = fd;
	list_insert(&s->connections, &c->all);
	net_nodelay(fd);
	want(s, c, EPOLLIN);
}

static void
start_draining(struct server *s)
{
	close(s->listener);
	close(s->signals);
	s->listener = -1;
	s->accept_at = 0;
	s->deadline = work_now() + drain_ns;
	while (!list_empty(&s->waiting)) /* stopping in time is worth more than waiting */
		end_wait(s, list_element(s->waiting.next, struct connection, waiting));
}

/* Runs what is due, and returns the time of the next due item. */
static uint64_t
run_timers(struct server *s)
{
	uint64_t now, next = never;

	if (list_empty(&s->waiting) && s->accept_at == 0)
		return never;
	now = work_now();
	while (!list_empty(&s->waiting)) {
		struct connection *c = list_element(s->waiting.next, struct connection, waiting);

		next = c->due;
		if (next > now)
			break;
		end_wait(s, c);
		next = never;
	}
	if (s->accept_at != 0 && s->accept_at <= now) {
		s->accept_at = 0;
		watch(s, s->listener, &s->listener, EPOLL_CTL_ADD, EPOLLIN);
	}
	return s->accept_at != 0 && s->accept_at < next ? s->accept_at : next;
}

static int
milliseconds_until(uint64_t time)
{
	uint64_t now, left;

	if (time == never)
		return -1;
	now = work_now();
	left = time > now ? (time - now + 999999) / 1000000 : 0;
	return left < INT_MAX ? (int)left : INT_MAX;
}

/*
 * Waits at most timeout milliseconds and handles ready connections. Returns false if none was
 * ready.
 */
static bool
turn(struct server *s, int timeout)
{
	struct epoll_event ready[EVENTS];
	int n = epoll_wait(s->epoll, ready, EVENTS, timeout);
	bool stop = false;

	for (int i = 0; i < n; i++) {
		void *owner = ready[i].data.ptr;

		if (owner == &s->listener)
			accept_one(s);
		else if (owner == &s->signals)
			stop = true; /* after this batch: it may still hold the listener */
		else
			connection_ready(s, owner);
	}
	if (stop)
		start_draining(s);
	return n > 0;
}

/* Drains: runs until no connection has anything to read or write, or the deadline. */
static void
drain(struct server *s)
{
	while (work_now() < s->deadline) {
		if (!turn(s, 0) && s->writing == 0)
			return;
		if (s->writing > 0)
			turn(s, milliseconds_until(s->deadline));
	}
}

static int
open_signals(void)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	return signalfd(-1, &stop, SFD_NONBLOCK);
}

static void
open_server(struct server *s)
{
	list_init(&s->connections);
	list_init(&s->waiting);
	s->signals = open_signals();
	s->epoll = epoll_create1(0);
	if (s->signals < 0 || s->epoll < 0)
		die(EXIT_TROUBLE, "cannot set up the event loop: %s", strerror(errno));
	s->listener = net_listen(&s->options);
	net_nonblocking(s->listener);
	watch(s, s->signals, &s->signals, EPOLL_CTL_ADD, EPOLLIN);
	watch(s, s->listener, &s->listener, EPOLL_CTL_ADD, EPOLLIN);
}

int
main(int argc, char **argv)
{
	static struct server s;

	s.options = options_parse(argc, argv);
	open_server(&s);
	while (s.deadline == 0)
		turn(&s, milliseconds_until(run_timers(&s)));
	drain(&s);
	while (!list_empty(&s.connections))
		close_connection(&s, list_element(s.connections.next, struct connection, all));
	close(s.epoll);
	return 0;
}

/*
 * RECV: one process for each client, the only one that reads from the connection. Lines may arrive
 * in any number of segments. Messages are appended to the room's log and are on disk before the
 * next other command runs. Replies go by mail to the client's SEND, which writes them.
 *
 * It ends when the client disconnects, SEND ends, the client is silent for too long, or the server
 * stops. At a stop it processes the input that has arrived, makes it durable, and says goodbye.
 */
#include "recv.h"

#include "client.h"
#include "clock.h"
#include "report.h"
#include "sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	INPUT_BYTES = 16384,           /* more than the longest line */
	REGISTRATION_MS = 30000,       /* time limit of registration */
	IDLE_MS = 120000,              /* silence after which the client is sent a PING */
	ANSWER_MS = 60000,             /* time limit of the PONG */
	MARKS_MS = 1000,               /* time between two checks of marks_check */
	BURST_SECONDS = 4,             /* size of the burst, in seconds of the flood limit */
	WAIT_MAX_MS = 60000,
};

static volatile sig_atomic_t asked_to_stop;

struct input {
	size_t length;
	bool skipping; /* the rest of a too long line is being skipped */
	char bytes[INPUT_BYTES];
};

/* Idle times and the flood limit. */
struct pace {
	uint64_t began, heard, counted;
	bool asked;
	unsigned long long credit; /* in thousandths of a line */
};

static struct client client;
static struct input input;

static void
on_signal(int signal)
{
	(void)signal;
	asked_to_stop = 1;
}

/* Blocks SIGTERM except in pselect. */
static void
block_signals(sigset_t *waiting)
{
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t term;

	sigaction(SIGTERM, &act, NULL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, waiting);
	sigdelset(waiting, SIGTERM);
}

static void
earn(struct client *c, struct pace *p, uint64_t now)
{
	unsigned long long most = 1000ull * BURST_SECONDS * c->o->flood;

	p->credit += (now - p->counted) * c->o->flood;
	p->counted = now;
	if (p->credit > most)
		p->credit = most;
}

/* Runs the complete lines of the input; stops early when the client is over its limit. */
static void
run_lines(struct client *c, struct pace *p)
{
	struct slice rest = { input.bytes, input.length };

	while (!c->quitting && slice_has(rest, '\n') && (c->o->flood == 0 || p->credit >= 1000)) {
		struct slice line = slice_cut(&rest, '\n');

		if (line.length > 0 && line.at[line.length - 1] == '\r')
			line.length--;
		if (c->o->flood != 0)
			p->credit -= 1000;
		if (input.skipping)
			input.skipping = false;
		else
			command_run(c, line);
	}
	batch_flush(c);
	answers_flush(c);
	memmove(input.bytes, rest.at, rest.length);
	input.length = rest.length;
	if (input.length == INPUT_BYTES && !slice_has(rest, '\n')) {
		if (!input.skipping)
			numeric(c, 417, ":Input line was too long");
		answers_flush(c);
		input.skipping = true;
		input.length = 0;
	}
}

/* Reads once. Returns false at the end of the input. */
static bool
read_more(struct client *c, int flags)
{
	size_t room = sizeof input.bytes - input.length;
	ssize_t n = recv(c->fd, input.bytes + input.length, room, flags);

	c->input_ended = n == 0 && room > 0;
	if (n < 0)
		return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
	input.length += (size_t)n;
	return n > 0;
}

/* Reports whether a complete line waits only for the flood limit. */
static bool
held_back(const struct client *c)
{
	return c->o->flood != 0 && slice_has((struct slice){ input.bytes, input.length }, '\n');
}

/* Sends a silent client a PING, and ends it if it does not answer. Returns how long to wait for the
 * next check. */
static int
look_at_clock(struct client *c, struct pace *p, uint64_t now)
{
	uint64_t silent = now - p->heard;

	if (!c->registered && now - p->began >= REGISTRATION_MS) {
		close_client(c, "registration timed out");
		return 0;
	}
	if (silent >= IDLE_MS + ANSWER_MS) {
		(void)slice_copy(slice_of("Ping timeout"), c->reason, sizeof c->reason);
		close_client(c, "ping timeout");
		return 0;
	}
	if (c->registered && silent >= IDLE_MS && !p->asked) {
		answer(c, "PING %s", c->o->name);
		answers_flush(c);
		p->asked = true;
	}
	if (held_back(c))
		return 1 + (int)(1000 / c->o->flood);
	if (c->later.count > 0)
		return MARKS_MS;
	return c->registered ? WAIT_MAX_MS : REGISTRATION_MS / 4;
}

/* Waits for input, a signal or a time limit. Returns false at the end of the input. */
static bool
wait_and_read(struct client *c, struct pace *p, const sigset_t *waiting)
{
	int ms = look_at_clock(c, p, clock_steady());
	struct timespec timeout = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	fd_set in; /* a process with one connection has low descriptors */

	if (c->quitting)
		return true;
	FD_ZERO(&in);
	if (!held_back(c))
		FD_SET((unsigned)c->fd, &in);
	if (pselect(c->fd + 1, &in, NULL, NULL, &timeout, waiting) <= 0)
		return true;
	p->heard = clock_steady();
	p->asked = false;
	return read_more(c, MSG_DONTWAIT);
}

/* Processes the input that arrived before the stop, without the flood limit. */
static void
drain(struct client *c, struct pace *p)
{
	const struct options *usual = c->o;
	struct options unlimited = *usual;

	unlimited.flood = 0;
	c->o = &unlimited;
	do {
		size_t before = input.length;
		bool more = read_more(c, MSG_DONTWAIT);

		run_lines(c, p);
		if (!more || input.length == before)
			break;
	} while (!c->quitting && input.length < INPUT_BYTES);
	close_client(c, "the server is stopping");
	c->o = usual; /* the other options end with this function */
}

static bool
over(const struct client *c)
{
	return c->quitting || atomic_load(&c->me->closing);
}

/* Waits until SEND has ended its output, at most its time limit for a client that reads nothing. */
static void
wait_until_sent(struct client *c)
{
	while (atomic_load(&c->me->ending) == GOING_ON && !atomic_load(&c->me->closing))
		mail_wait(c->mail, mail_read(c->mail));
}

/* Sends QUIT to the rooms, stores the read markers, and lets SEND close the connection. */
static _Noreturn void
end(struct client *c)
{
	batch_flush(c);
	names_take(c->t);
	if (c->me->ended[0] != '\0')
		(void)slice_copy(slice_of(c->me->ended), c->reason, sizeof c->reason);
	marks_begin_end(c);
	names_release(c->t);
	for (int i = 0; i < MY_ROOMS_MAX; i++) /* before another client can open the room again */
		if (c->joined[i].used)
			log_cut_refused(&c->joined[i].log);
	session_leave(c->t, c->number, slice_of(c->reason));
	close_client(c, "end of connection");
	wait_until_sent(c);
	marks_end(c);
	for (int i = 0; i < MY_ROOMS_MAX; i++)
		if (c->joined[i].used)
			joined_close(&c->joined[i]);
	atomic_store(&c->me->ending, MARKS_SAVED);
	session_wake(c->me);
	_exit(0);
}

void
recv_run(struct table *t, unsigned number, int fd, int data, bool loopback, const struct options *o)
{
	/* static memory is zero and used only as far as it is written, which an assignment would not
	 * be */
	struct client *c = &client;
	struct pace p = { .began = clock_steady() };
	sigset_t waiting;
	bool more = true;

	c->t = t;
	c->number = number;
	c->me = &t->sessions[number];
	c->mail = &t->boxes[number].mail;
	c->o = o;
	c->fd = fd;
	c->data = data;
	c->loopback = loopback;
	(void)slice_copy(slice_of("Connection closed"), c->reason, sizeof c->reason);
	c->answers = BUFFER_IN(c->answers_bytes);
	c->batch.text = BUFFER_IN(c->batch.bytes);
	p.heard = p.counted = p.began;
	p.credit = 1000ull * BURST_SECONDS * o->flood;
	block_signals(&waiting);
	cloak(c);
	sandbox_recv();
	while (more && !over(c) && !asked_to_stop && !atomic_load(&t->stop)) {
		more = wait_and_read(c, &p, &waiting);
		earn(c, &p, clock_steady());
		run_lines(c, &p);
		marks_check(c);
	}
	if (atomic_load(&t->stop))
		drain(c, &p);
	end(c);
}

/*
 * The parent: accepts clients, forks RECV and SEND for each, reaps both, and cleans up after them
 * however they ended. It does not read from clients, writes to one only to reject it, and touches
 * no room's log. Only the parent claims and frees sessions, so a session is reused only after both
 * processes of its last client have ended.
 *
 * RECV (recv.c) reads from a client, SEND (send.c) writes to it. RECV's replies reach SEND as mail,
 * a ring in shared memory (mail.h). KEEPER (keeper.c), one for the whole server, stores the read
 * markers of all clients once a second. RECV stores those of its own client at its end.
 */
#include "parent.h"

#include "clock.h"
#include "keeper.h"
#include "net.h"
#include "recv.h"
#include "report.h"
#include "send.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#elif defined(__FreeBSD__)
#include <sys/procctl.h>
#endif

enum { PAUSE_MS = 100, STOP_MS = 1200 };

struct parent {
	struct table *t;
	int listener, data;
	const struct options *o;
	struct { pid_t recv, send; } clients[SESSIONS_MAX]; /* 0: reaped, or never started */
	unsigned count;                                      /* number of the clients' processes */
	/* 0: it has ended; the next client starts another */
	pid_t keeper;
	/* no descriptors or processes left: not accepting */
	bool paused;
	/* signal mask before ours: in force in pselect and in the children */
	sigset_t unblocked;
};

static volatile sig_atomic_t stop_signals;

static void
on_stop(int signal)
{
	(void)signal;
	stop_signals++;
}

static void
on_child(int signal)
{
	(void)signal; /* ending pselect is enough */
}

/* Sets up the signals so that they arrive only in pselect. */
static void
catch_signals(struct parent *p)
{
	struct sigaction stop = { .sa_handler = on_stop }, child = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
	sigset_t all;

	sigemptyset(&all);
	sigaddset(&all, SIGTERM);
	sigaddset(&all, SIGINT);
	sigaddset(&all, SIGCHLD);
	sigprocmask(SIG_BLOCK, &all, &p->unblocked);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGCHLD, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Makes the kernel kill the child if its parent is killed, where that is possible. */
static void
die_with(pid_t parent)
{
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#elif defined(__FreeBSD__)
	int signal = SIGKILL;

	procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &signal);
#endif
	if (getppid() != parent)
		_exit(EXIT_TROUBLE);
}

static pid_t
fork_child(const struct parent *p)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGINT, SIG_IGN); /* from the terminal: the parent decides */
	/* until RECV and SEND, which have read nothing yet, install their own handlers */
	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &p->unblocked, NULL);
	die_with(parent);
	close(p->listener);
	return 0;
}

/*
 * Ends the other process of a client.
 *
 * The last item in the mail of a RECV that ends without an error asks SEND to end (MAIL_CLOSE);
 * waking SEND again does no harm. For a RECV that failed, the flag closing asks SEND to end, which
 * reads the flag when it is woken.
 *
 * Without SEND, RECV must not read on: the flag asks it to end. The signal ends its wait for input,
 * and the post of emptied its wait for room in the mail.
 */
static void
end_other(struct parent *p, unsigned i, bool was_recv, bool badly)
{
	struct session *s = &p->t->sessions[i];

	if (was_recv && badly)
		atomic_store(&s->closing, true);
	if (was_recv && p->clients[i].send != 0)
		session_wake_again(s);
	if (!was_recv && p->clients[i].recv != 0) {
		atomic_store(&s->closing, true);
		kill(p->clients[i].recv, SIGTERM);
		sem_post(&p->t->boxes[i].mail.emptied);
	}
}

static void
wake_all(struct parent *p)
{
	for (unsigned i = 0; i < table_sessions(); i++)
		if (atomic_load(&p->t->sessions[i].live))
			session_wake_again(&p->t->sessions[i]);
}

static void
ended(struct parent *p, unsigned i, bool was_recv, int status)
{
	bool badly = !WIFEXITED(status) || WEXITSTATUS(status) != 0;

	p->count--;
	if (was_recv)
		p->clients[i].recv = 0;
	else
		p->clients[i].send = 0;
	if (badly && !atomic_load(&p->t->stop))
		report("the %s process of a client ended %s %d", was_recv ? "receiving" : "sending", WIFSIGNALED(status) ? "by signal" : "with status",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (badly)
		wake_all(p); /* it may have stored a message and died before it woke the room's members */
	end_other(p, i, was_recv, badly);
	if (p->clients[i].recv == 0 && p->clients[i].send == 0)
		session_free(p->t, i);
}

static void
reap(struct parent *p)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		p->paused = false;
		if (pid == p->keeper) {
			p->keeper = 0;
			report("the process that stores read markers has ended");
			wake_all(p); /* it may have been sending mail */
		}
		for (unsigned i = 0; i < table_sessions(); i++)
			if (p->clients[i].recv == pid || p->clients[i].send == pid) {
				ended(p, i, p->clients[i].recv == pid, status);
				break;
			}
	}
}

/* Reports whether an address has as many clients as --per-host permits. All addresses of an IPv6
 * /64 count as one (net_network). */
static bool
at_address_limit(const struct parent *p, const char *address)
{
	char network[NET_HOST_MAX + 1];
	unsigned n = 0;

	net_network(address, network);
	for (unsigned i = 0; i < table_sessions(); i++)
		n += atomic_load(&p->t->sessions[i].live) && strcmp(p->t->sessions[i].network, network) == 0;
	return n >= p->o->per_host;
}

static void
reject(int fd, const char *why)
{
	(void)send(fd, why, strlen(why), MSG_DONTWAIT | MSG_NOSIGNAL); /* best effort */
	close(fd);
}

static void
begin_keeper(struct parent *p)
{
	if (p->keeper > 0)
		return;
	p->keeper = fork_child(p);
	if (p->keeper == 0)
		keeper_run(p->t, p->data); /* does not return */
	if (p->keeper < 0) {
		report("cannot fork the process that stores read markers: %s", strerror(errno));
		p->keeper = 0;
	}
}

/* Forks both processes of a client. Each has its own copy of the connection; the parent keeps
 * none. */
static void
begin_client(struct parent *p, unsigned i, int fd, bool loopback)
{
	p->clients[i].recv = fork_child(p);
	if (p->clients[i].recv == 0)
		recv_run(p->t, i, fd, p->data, loopback, p->o); /* does not return */
	p->count += p->clients[i].recv > 0;
	p->clients[i].send = p->clients[i].recv < 0 ? -1 : fork_child(p);
	if (p->clients[i].send == 0)
		send_run(p->t, i, fd, p->data); /* does not return */
	p->count += p->clients[i].send > 0;
	if (p->clients[i].send > 0) {
		close(fd);
		return;
	}
	report("cannot fork a process for a client: %s", strerror(errno));
	reject(fd, "ERROR :The server is full\r\n");
	p->clients[i].send = 0;
	p->paused = true;
	if (p->clients[i].recv > 0) {
		atomic_store(&p->t->sessions[i].closing, true);
		kill(p->clients[i].recv, SIGTERM);
	} else {
		p->clients[i].recv = 0;
		session_free(p->t, i);
	}
}

static void
accept_one(struct parent *p)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	char host[NET_HOST_MAX + 1];
	bool loopback;
	int fd, i;

	begin_keeper(p); /* if the last one has ended */
	fd = accept(p->listener, (struct sockaddr *)&address, &length);
	if (fd < 0) {
		p->paused = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
		return;
	}
	loopback = net_is_loopback((struct sockaddr *)&address);
	net_peer((struct sockaddr *)&address, host);
	if (!loopback && at_address_limit(p, host)) {
		reject(fd, "ERROR :Too many connections from your address\r\n");
		return;
	}
	/* RECV waits for it by pselect, which takes lower descriptors only */
	i = fd < FD_SETSIZE ? session_claim(p->t, host) : -1;
	if (i < 0) {
		reject(fd, "ERROR :The server is full\r\n");
		return;
	}
	net_nodelay(fd);
	begin_client(p, (unsigned)i, fd, loopback);
}

static void
serve(struct parent *p)
{
	struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	while (stop_signals == 0) {
		fd_set in;
		int n;

		FD_ZERO(&in);
		if (!p->paused)
			FD_SET((unsigned)p->listener, &in);
		n = pselect(p->listener + 1, &in, NULL, NULL, p->paused ? &pause : NULL, &p->unblocked);
		p->paused = p->paused && n != 0; /* the pause is over */
		reap(p);
		if (n > 0)
			accept_one(p);
	}
}

static void
signal_all(struct parent *p, int signal)
{
	for (unsigned i = 0; i < table_sessions(); i++) {
		if (p->clients[i].recv != 0)
			kill(p->clients[i].recv, signal);
		if (p->clients[i].send != 0)
			kill(p->clients[i].send, signal);
		if (p->clients[i].recv != 0)
			sem_post(&p->t->boxes[i].mail.emptied); /* it may be waiting for room in the mail */
	}
}

/* Ends KEEPER, when every RECV has ended: each has stored its client's read markers, unless it was
 * killed. KEEPER may be replacing a file: that is then complete or unchanged. */
static void
end_keeper(struct parent *p)
{
	pid_t keeper = p->keeper;

	p->keeper = 0;
	if (keeper == 0)
		return;
	kill(keeper, SIGKILL);
	while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* Stops the server. On SIGTERM every RECV processes the input that has arrived, and its SEND sends
 * that with a last line. Processes that have not ended in time are killed. */
static void
stop(struct parent *p)
{
	uint64_t end = clock_steady() + STOP_MS;
	int asked = stop_signals;

	close(p->listener);
	atomic_store(&p->t->stop, true);
	signal_all(p, SIGTERM);
	while (p->count > 0) {
		uint64_t now = clock_steady();
		uint64_t left = now < end ? end - now : PAUSE_MS;
		struct timespec timeout = { .tv_sec = (time_t)(left / 1000), .tv_nsec = (long)(left % 1000) * 1000000L };

		if (now >= end || stop_signals > asked)
			signal_all(p, SIGKILL);
		pselect(0, NULL, NULL, NULL, &timeout, &p->unblocked);
		reap(p);
	}
	end_keeper(p);
}

void
parent_run(struct table *t, int listener, int data, const struct options *o)
{
	static struct parent p;

	p = (struct parent){ .t = t, .listener = listener, .data = data, .o = o };
	/* a client may disconnect before it is accepted */
	fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
	catch_signals(&p);
	begin_keeper(&p);
	serve(&p);
	stop(&p);
}

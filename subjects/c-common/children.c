#include "children.h"

#include "die.h"
#include "drain.h"
#include "work.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static const uint64_t drain_ns = 1000000000;

/* The SIGCHLD handler changes it, so other code touches it only under drain_hold. */
static pid_t *pids;
static size_t count;
static size_t room;

static void
forget(pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid) {
			pids[i] = pids[--count];
			return;
		}
}

static void
reap(int signal)
{
	int saved = errno;
	pid_t pid;

	(void)signal;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		forget(pid);
	errno = saved;
}

void
children_init(void)
{
	struct sigaction act = { .sa_handler = reap, .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	sigfillset(&act.sa_mask);
	sigaction(SIGCHLD, &act, NULL);
}

static void
make_room(void)
{
	if (count < room)
		return;
	room = room > 0 ? 2 * room : 64;
	pids = realloc(pids, room * sizeof *pids);
	if (pids == NULL)
		die(EXIT_TROUBLE, "out of memory for %zu children", room);
}

static void
die_with(pid_t parent)
{
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	if (getppid() != parent)
		_exit(EXIT_TROUBLE); /* it died before we requested the signal */
}

pid_t
children_fork(int fd)
{
	sigset_t before = drain_hold();
	pid_t parent = getpid();
	pid_t pid;

	make_room();
	pid = fork();
	if (pid > 0)
		pids[count++] = pid;
	if (pid == 0) {
		count = 0;
		signal(SIGCHLD, SIG_DFL);
		die_with(parent);
		drain_reset();
		drain_reading(fd);
	}
	drain_restore(&before);
	return pid;
}

size_t
children_count(void)
{
	return count;
}

static void
send_all(int signal)
{
	for (size_t i = 0; i < count; i++)
		kill(pids[i], signal);
}

void
children_stop(void)
{
	sigset_t before = drain_hold();
	uint64_t end = work_now() + drain_ns;

	send_all(SIGTERM);
	while (count > 0) {
		uint64_t now = work_now();
		uint64_t left = now < end ? end - now : drain_ns;
		struct timespec timeout = {
			.tv_sec = (time_t)(left / 1000000000),
			.tv_nsec = (long)(left % 1000000000),
		};

		if (now >= end)
			send_all(SIGKILL);
		pselect(0, NULL, NULL, NULL, &timeout, &before); /* SIGCHLD ends it */
	}
	drain_restore(&before);
}

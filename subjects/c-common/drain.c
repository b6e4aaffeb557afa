#include "drain.h"

#include "net.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Thread_local volatile sig_atomic_t asked;
static _Thread_local volatile sig_atomic_t accepting = -1;
static _Thread_local volatile sig_atomic_t reading = -1;
static _Thread_local struct timespec pause_left;

static void
handle(int signal)
{
	int saved = errno;

	(void)signal;
	asked = 1;
	if (accepting >= 0)
		close(accepting);
	accepting = -1;
	if (reading >= 0)
		net_nonblocking(reading);
	memset(&pause_left, 0, sizeof pause_left);
	errno = saved;
}

void
drain_on(int signal)
{
	struct sigaction act = { .sa_handler = handle }; /* no SA_RESTART: calls must return */

	sigfillset(&act.sa_mask);
	sigaction(signal, &act, NULL);
}

sigset_t
drain_hold(void)
{
	sigset_t held, before;

	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &held, &before);
	return before;
}

void
drain_restore(const sigset_t *mask)
{
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

void
drain_accepting(int listener)
{
	accepting = listener; /* before asked is looked at: a signal now finds it */
	if (asked && accepting >= 0)
		close(accepting);
}

void
drain_reading(int fd)
{
	reading = fd; /* before asked is looked at: a signal now finds it */
	if (fd >= 0 && asked)
		net_nonblocking(fd);
}

bool
drain_asked(void)
{
	return asked;
}

void
drain_reset(void)
{
	asked = 0;
	accepting = -1;
	reading = -1;
}

void
drain_sleep(uint64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	do {
		pause_left = left; /* before asked is looked at: a signal now clears it */
		if (asked)
			return;
	} while (nanosleep(&pause_left, &left) != 0 && errno == EINTR);
}

#include "lock.h"

#include "report.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { SLEEP_NS = 50000000 };

void
lock_init(struct lock *l)
{
	pthread_mutexattr_t how;
	int error;

	pthread_mutexattr_init(&how);
	pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
	error = pthread_mutex_init(&l->mutex, &how);
	if (error != 0)
		fatal("this system has no robust locks between processes: %s", strerror(error));
	pthread_mutexattr_destroy(&how);
}

/*
 * A waiter that is killed right after its wake-up may lose that wake-up. If a third process took
 * the lock meanwhile without noticing waiters, the others would sleep forever. So each waiter wakes
 * up regularly.
 */
static int
take_or_sleep(struct lock *l)
{
	int error = pthread_mutex_trylock(&l->mutex);
	struct timespec end;

	while (error == EBUSY || error == ETIMEDOUT) {
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += SLEEP_NS;
		end.tv_sec += end.tv_nsec / 1000000000;
		end.tv_nsec %= 1000000000;
		error = pthread_mutex_timedlock(&l->mutex, &end);
	}
	return error;
}

bool
lock_take(struct lock *l)
{
	int error = take_or_sleep(l);

	if (error == EOWNERDEAD) {
		pthread_mutex_consistent(&l->mutex);
		return true;
	}
	if (error != 0)
		fatal("cannot take a lock: %s", strerror(error));
	return false;
}

void
lock_release(struct lock *l)
{
	pthread_mutex_unlock(&l->mutex);
}

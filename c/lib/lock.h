/* A robust lock between processes, in shared memory. If its owner dies, the next process gets
 * it. */
#ifndef LOCK_H
#define LOCK_H

#include <pthread.h>
#include <stdbool.h>

struct lock {
	pthread_mutex_t mutex;
};

/* Called once, before the processes are forked. */
void lock_init(struct lock *l);

/* Takes the lock. Returns true if the last owner died: the data it protects may be inconsistent. */
bool lock_take(struct lock *l);
void lock_release(struct lock *l);

#endif

/* A lock between processes, in memory that they share. Whoever dies holding it leaves it free to
 * the next. */
#ifndef LOCK_H
#define LOCK_H

#include <pthread.h>
#include <stdbool.h>

struct lock {
	pthread_mutex_t mutex;
};

/* Called once, before the processes that share it are forked. */
void lock_init(struct lock *l);

/* True when the one before died holding it: what it protects may be half changed. */
bool lock_take(struct lock *l);
void lock_release(struct lock *l);

#endif

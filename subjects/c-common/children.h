/*
 * The processes that a parent owns: started here, reaped as they end, and all gone before the parent is.
 *
 * Only the thread that called children_init uses these, outside signal handlers. Where the system can say
 * so (Linux), children also die with a parent that was killed.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <stddef.h>
#include <sys/types.h>

/* From now on children are reaped the moment they end. */
void children_init(void);

/* Like fork, but the drain of the child is its own: it is about fd, to be read from (-1: none yet). */
pid_t children_fork(int fd);

/* How many there are at the moment. */
size_t children_count(void);

/* Tells all to drain, kills those that have not ended after a second, and returns when all are
 * reaped. */
void children_stop(void);

#endif

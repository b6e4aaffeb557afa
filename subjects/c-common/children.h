/*
 * The child processes of a parent: started here, reaped as they exit, and all gone before the
 * parent exits.
 *
 * Only the thread that called children_init uses these functions, outside signal handlers. Where
 * the system supports it (Linux), children are also killed with their parent.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <stddef.h>
#include <sys/types.h>

/* From now on children are reaped as soon as they exit. */
void children_init(void);

/* fork, with a drain of the child's own for fd, which the child reads (-1: none yet). */
pid_t children_fork(int fd);

/* Returns the number of children. */
size_t children_count(void);

/*
 * Signals all children to drain, kills those that still run after a second, and returns when all
 * are reaped.
 */
void children_stop(void);

#endif

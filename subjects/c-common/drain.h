/*
 * SIGTERM and SIGINT for code that blocks, without a race and without a system call more per message.
 *
 * A flag alone is not enough: the signal may come between looking at the flag and blocking in read, which
 * then sleeps for ever. So the handler changes what the next blocking call will meet:
 *   - it closes the listener: accept returns EINTR if it was waiting, EBADF if it was about to;
 *   - it makes the connection non-blocking: read returns EINTR, or what has arrived, or EAGAIN. As nothing
 *     else makes it non-blocking, EAGAIN means "draining, and everything that had arrived is handled";
 *   - it sets the pause to zero: nanosleep returns EINTR, or at once.
 *
 * All state belongs to one thread, so a program with threads passes the signal on to each of them.
 */
#ifndef DRAIN_H
#define DRAIN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Drain when one of these comes. The process needs it once; threads and children inherit it. */
void drain_on(int signal);

/* Blocks SIGTERM, SIGINT and SIGCHLD; returns the mask to go back to by drain_restore. */
sigset_t drain_hold(void);
void drain_restore(const sigset_t *mask);

/* This thread accepts from listener, until the signal closes it. -1: it does not accept. */
void drain_accepting(int listener);

/* This thread reads from fd. -1, before fd is closed: it no longer does. */
void drain_reading(int fd);

/* Whether the signal has come to this thread. */
bool drain_asked(void);

/* Forgets that a signal came: a new child's first step, under drain_hold. */
void drain_reset(void);

/* Sleeps; much shorter, once the signal comes. */
void drain_sleep(uint64_t ns);

#endif

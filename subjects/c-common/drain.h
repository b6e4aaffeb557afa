/*
 * SIGTERM and SIGINT for blocking code, without a race and without a further system call for each
 * message.
 *
 * A flag alone is not enough: the signal may come between the check of the flag and the blocking
 * read, which would then sleep for ever. So the handler changes the state that the next blocking
 * call will meet:
 *   - It closes the listener: accept returns EINTR if it was waiting, EBADF if it was about to
 *     wait.
 *   - It makes the connection non-blocking: read returns EINTR, or the bytes that have arrived, or
 *     EAGAIN. No other code makes it non-blocking, so EAGAIN means "draining, and all input that
 *     had arrived is handled".
 *   - It sets the pause to zero: nanosleep returns EINTR, or at once.
 *
 * All state belongs to one thread, so a program with threads forwards the signal to each of them.
 */
#ifndef DRAIN_H
#define DRAIN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Drain on these signals. The process calls it once; threads and children inherit it. */
void drain_on(int signal);

/* Blocks SIGTERM, SIGINT and SIGCHLD; returns the mask for drain_restore. */
sigset_t drain_hold(void);
void drain_restore(const sigset_t *mask);

/* This thread accepts from listener, until the signal closes it. -1: it does not accept. */
void drain_accepting(int listener);

/* This thread reads from fd. -1, before fd is closed: it no longer does. */
void drain_reading(int fd);

/* Reports whether the signal has come to this thread. */
bool drain_asked(void);

/* Clears a received signal: a new child's first step, under drain_hold. */
void drain_reset(void);

/* Sleeps; the signal ends the sleep early. */
void drain_sleep(uint64_t ns);

#endif

/* Sockets and bytes: the code that all subjects share. */
#ifndef NET_H
#define NET_H

#include "options.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	READ_MAX = 4096,      /* bytes a read may return */
	BACKLOG = 4096,       /* connections the kernel may hold for us */
	ACCEPT_PAUSE_MS = 50, /* rest when out of descriptors, memory or processes */
};

/*
 * Returns a blocking listener on the address of o. Also raises the limit of open files as far as
 * allowed and ignores SIGPIPE, so that a peer that has gone is an error of one write. Dies if it
 * cannot listen.
 */
int net_listen(const struct options *o);

/* Disables Nagle's algorithm: small messages leave at once. */
void net_nodelay(int fd);

/* Makes reads and writes of fd return EAGAIN instead of waiting. Async-signal-safe. */
void net_nonblocking(int fd);

/*
 * Reports whether a failed accept lost only its connection, so that the next may be tried at once.
 */
bool net_accept_again(int error);

/*
 * Writes all of data, in as many calls as needed, and waits while fd is full. Returns false, with
 * errno, on an error.
 */
bool net_write_all(int fd, const char *data, size_t length);

/* write_all to standard output. Dies on an error: a sink that loses bytes measures nothing. */
void net_print(const char *data, size_t length);

#endif

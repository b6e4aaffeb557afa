/* Sockets and bytes: what every subject does alike. */
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
 * A blocking listener on the address of o. Also raises the limit of open files as far as allowed and
 * ignores SIGPIPE, so that a peer that went away is an error of one write. Dies when it cannot listen.
 */
int net_listen(const struct options *o);

/* Small messages leave at once instead of waiting for the last one's acknowledgement. */
void net_nodelay(int fd);

/* Makes reads and writes of fd return EAGAIN instead of waiting. Async-signal-safe. */
void net_nonblocking(int fd);

/* Whether an accept that failed with error only lost its connection, and the next may be tried at
 * once. */
bool net_accept_again(int error);

/* Writes all of data, however often it takes, waiting while fd is full. False, with errno, on an
 * error. */
bool net_write_all(int fd, const char *data, size_t length);

/* The same to standard output. Dies on an error: a sink that loses bytes measures nothing. */
void net_print(const char *data, size_t length);

#endif

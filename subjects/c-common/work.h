/* The work for a message, besides moving its bytes. */
#ifndef WORK_H
#define WORK_H

#include "options.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the monotonic clock in nanoseconds. */
uint64_t work_now(void);

/*
 * Counts the messages completed by a read of n bytes and burns their processor time. Returns how
 * many nanoseconds this connection, and only it, must wait before it passes the bytes on. part
 * belongs to the connection: the bytes of its unfinished message, 0 at first.
 */
uint64_t work_handle(const struct options *o, uint32_t *part, size_t n);

#endif

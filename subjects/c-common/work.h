/* What a message costs besides moving its bytes. */
#ifndef WORK_H
#define WORK_H

#include "options.h"

#include <stddef.h>
#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
uint64_t work_now(void);

/*
 * Counts the messages completed by a read of n bytes, burns their processor time, and returns for how
 * many nanoseconds this connection, and only it, has to wait before the bytes are passed on.
 * part is the connection's own: bytes of its unfinished message, 0 at first.
 */
uint64_t work_handle(const struct options *o, uint32_t *part, size_t n);

#endif

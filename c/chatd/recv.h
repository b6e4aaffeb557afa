/* The RECV process of a client: see recv.c. */
#ifndef RECV_H
#define RECV_H

#include "options.h"
#include "table.h"

/* Runs until the client disconnects or the server stops; ends the process. */
_Noreturn void recv_run(struct table *t, unsigned number, int fd, int data, bool loopback, const struct options *o);

#endif

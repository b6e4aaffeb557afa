/* The SEND process of a client: see send.c. */
#ifndef SEND_H
#define SEND_H

#include "table.h"

/* Runs until the client disconnects or the connection is closed; ends the process. fd is the
 * connection, data the data directory. */
_Noreturn void send_run(struct table *t, unsigned number, int fd, int data);

#endif

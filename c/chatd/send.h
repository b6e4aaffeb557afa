/* The SEND process of a client: see send.c. */
#ifndef SEND_H
#define SEND_H

#include "table.h"

/* Runs until the client is gone or told to go; ends the process. fd is the connection, data the
 * folder of the data. */
_Noreturn void send_run(struct table *t, unsigned number, int fd, int data);

#endif

/* The parent process: see parent.c. */
#ifndef PARENT_H
#define PARENT_H

#include "options.h"
#include "table.h"

/* Accepts until SIGTERM or SIGINT, then ends every process of every client; returns when all are
 * gone. */
void parent_run(struct table *t, int listener, int data, const struct options *o);

#endif

/* The parent process: see parent.c. */
#ifndef PARENT_H
#define PARENT_H

#include "options.h"
#include "table.h"

/* Accepts clients until SIGTERM or SIGINT, then ends all processes of all clients, and returns when
 * they have ended. */
void parent_run(struct table *t, int listener, int data, const struct options *o);

#endif

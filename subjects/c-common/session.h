/* A connection handled straight down, by whoever may block on it: a process or a thread. */
#ifndef SESSION_H
#define SESSION_H

#include "options.h"

/* Serves fd until its end, or until the drain has handled what had arrived. Closes it. */
void session_run(int fd, const struct options *o);

#endif

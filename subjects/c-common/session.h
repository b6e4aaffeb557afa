/* A connection with blocking reads and writes, run by a process or thread of its own. */
#ifndef SESSION_H
#define SESSION_H

#include "options.h"

/* Serves fd until its end, or until the drain has handled the input that had arrived. Closes it. */
void session_run(int fd, const struct options *o);

#endif

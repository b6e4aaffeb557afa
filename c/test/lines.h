/* Numbered messages that several processes write to one log, and what a reader of them has to find. */
#ifndef LINES_H
#define LINES_H

#include "log.h"

#include <stdbool.h>

/* Writes a message of a writer, and waits until it is durable; false when it is not. */
bool lines_say(struct log *l, int writer, int number);

/*
 * Follows the log in the folder path below data until last lines came, or until its end where last is 0. Every line
 * must be whole, and the next of its writer: next[writer] counts them. 0: so it is.
 */
int lines_read(int data, const char *path, int last, int *next, int writers);

#endif

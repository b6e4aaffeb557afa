/* Numbered messages that several processes write to one log, and a reader that checks them. */
#ifndef LINES_H
#define LINES_H

#include "log.h"

#include <stdbool.h>

/* Writes a message of a writer and waits until it is durable. Returns false after an error. */
bool lines_say(struct log *l, int writer, int number);

/*
 * Reads the log in the folder path below data until last lines were read, or to its end if last is
 * 0. Each line must be valid and the next one of its writer; next[writer] counts them. Returns 0 if
 * so.
 */
int lines_read(int data, const char *path, int last, int *next, int writers);

#endif

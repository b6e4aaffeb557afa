/* Numbered messages that several processes write to one log, and a reader that checks them. */
#ifndef LINES_H
#define LINES_H

#include "log.h"

#include <stdbool.h>

/* Writes a message of a writer and waits until it is durable. Returns false after an error. */
bool lines_say(struct log *l, int writer, int number);

/*
 * Reads the log in the folder path below data. It waits until count lines were read; if count is 0,
 * it reads the lines that are there now. Each line must be valid and the next one of its writer.
 * next[writer] is the number of the writer's next message: 0 before the call, and afterwards the
 * number of its messages that were read. Returns 0 if all lines were as they must be.
 */
int lines_read(int data, const char *path, int count, int *next, int writers);

#endif

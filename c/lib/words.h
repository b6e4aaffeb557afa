/* Reads the files of the data directory that can be edited by hand: lines of words
 * (docs/protocol.md, "The files"). */
#ifndef WORDS_H
#define WORDS_H

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { WORDS_LINE_MAX = 4096 }; /* length limit of a line, in bytes */

/*
 * Calls take with the lines of a file, in order, until it returns true, and returns whether it did.
 * The file is read at each call, so that a change takes effect at once. A missing file has no
 * lines. A line that is too long is passed with one byte more than the limit.
 */
bool lines_find(int data, const char *name, bool (*take)(void *context, struct slice line), void *context);

/* Takes the first word off the front of rest; an empty one if there is none. */
struct slice word_cut(struct slice *rest);

/* Reports whether the line is readable: UTF-8 without control characters, and not too long. A CR at
 * its end is ignored. */
bool words_readable(struct slice line);

/* Writes the value of KEY=VALUE with %XX decoded, and a NUL. Control characters become spaces. A
 * too long value is cut. */
void word_value(struct slice value, char *to, size_t capacity);

/* Parses a time such as 2026-11-21T11:30:00Z to milliseconds. */
bool word_time(struct slice text, uint64_t *ms);

#endif

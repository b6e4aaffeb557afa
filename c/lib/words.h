/* The files of the data folder that people may edit too: lines of words (docs/protocol.md, "The
 * files"). */
#ifndef WORDS_H
#define WORDS_H

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { WORDS_LINE_MAX = 4096 }; /* bytes of a line that can be read */

/*
 * Offers the lines of a file of the data folder to take, in order, until that takes one; whether it did. The file is
 * read each time, so that a change counts at once. One that is not there has no lines. A line that is too long is
 * offered with one byte more than it may have.
 */
bool lines_find(int data, const char *name, bool (*take)(void *context, struct slice line), void *context);

/* Takes the first word off the front of rest; an empty one when there is none. */
struct slice word_cut(struct slice *rest);

/* Whether the line can be read: UTF-8 without control characters, and not too long. A CR at its end
 * is its end's. */
bool words_readable(struct slice line);

/* The value of KEY=VALUE with %XX undone, and a NUL; what has no place in a line of IRC is a blank.
 * Cut where it is too long. */
void word_value(struct slice value, char *to, size_t room);

/* Reads a time such as 2026-11-21T11:30:00Z, in milliseconds. */
bool word_time(struct slice text, uint64_t *ms);

#endif

/* Read marks: how far a device of an account has been sent a room (docs/protocol.md, "Read marks"). */
#ifndef MARKS_H
#define MARKS_H

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

/* The mark of an account's device ("" for the one without a name) in the room with this id; false when it has none. */
bool mark_read(int data, struct slice account, struct slice device, const char *id, uint64_t *offset);

/* Moves the mark forward, never back. A mark that is lost only repeats messages. */
bool mark_write(int data, struct slice account, struct slice device, const char *id, uint64_t offset);

#endif

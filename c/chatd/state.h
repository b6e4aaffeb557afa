/* The file "state" of a room: its topic and modes, in lines of IRC (docs/protocol.md, "Data directory"). */
#ifndef STATE_H
#define STATE_H

#include "table.h"

#include <stdbool.h>

/* Reads what there is into the room, which is new; nothing when there is no such file. Under names. */
void state_read(int data, struct room *r);

/* Writes the room's topic, and the lines of modes as they were read; false when the disk refuses. Under names. */
bool state_write(int data, const struct room *r);

/* Whether the account is an operator of the room; everybody is where the room has none. Under names. */
bool state_operator(const struct room *r, struct slice account);

#endif

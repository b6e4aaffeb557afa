/* The file "state" of a room: its topic, modes, ranks and bans, in lines of IRC (docs/protocol.md,
 * "Data directory"). */
#ifndef STATE_H
#define STATE_H

#include "table.h"

#include <stdbool.h>

/*
 * Reads what there is into the room, which is new, its name's spelling too. Without such a file the room has the modes
 * of a new one, and one is made. Under names.
 */
void state_read(int data, const char *server, struct room *r);

/* What a topic is, who set it and when. */
struct topic {
	const char *text, *by;
	uint64_t at;
};

/*
 * Writes the room's state with a topic, and the other lines as they were read; false, and errno, when it can't. Under
 * topics, or names where nobody is in the room.
 */
bool state_write(int data, const char *server, const struct room *r, const struct topic *topic);

/*
 * What follows looks at what does not change while somebody is in the room. flag is a letter of the room's modes that
 * has no parameter.
 */
bool state_has(const struct room *r, char flag);

/* The sign before the nick of a member of that account: '@' of operators, '+' of who has a voice,
 * '\0'. */
char state_rank(const struct room *r, struct slice account);

/* Whether the account is an operator of the room; everybody is where nobody has a rank. */
bool state_operator(const struct room *r, struct slice account);

/* Whether a ban of the room is of NICK!USER@HOST. */
bool state_banned(const struct room *r, struct slice source);

/* A letter that a room's lines of MODE set, what belongs to it, and who set it when. */
struct mode {
	char letter;
	struct slice parameter, by, time;
};

/* Goes through them all: rest is r->modes at first. False at the end. */
bool state_next_ban(struct slice *rest, struct mode *m);

#endif

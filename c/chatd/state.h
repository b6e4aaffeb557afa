/* Reads and writes the file "state" of a room: topic, modes, ranks and bans, in lines of IRC
 * (docs/protocol.md, "The data directory"). */
#ifndef STATE_H
#define STATE_H

#include "table.h"

#include <stdbool.h>

/*
 * Reads the file into a new room, with the spelling of the room's name. If there is no file, it
 * creates one with the default modes. The caller holds names.
 */
void state_read(int data, const char *server, struct room *r);

/* A topic, the source that set it, and the time in seconds since 1970. */
struct topic {
	const char *text, *by;
	uint64_t at;
};

/*
 * Writes the room's state with a topic, and the other lines as they were read. Returns false and
 * sets errno after an error. The caller holds topics, or names if the room has no member.
 */
bool state_write(int data, const char *server, const struct room *r, const struct topic *topic);

/*
 * The functions below read fields that do not change while the room has members. flag is the letter
 * of a mode without a parameter.
 */
bool state_has(const struct room *r, char flag);

/* Returns the prefix of an account's members: '@' for operators, '+' for voice, '\0'. */
char state_rank(const struct room *r, struct slice account);

/* Reports whether the account is an operator of the room. If no account has a rank, all are. */
bool state_operator(const struct room *r, struct slice account);

/* Reports whether a ban of the room matches NICK!USER@HOST. */
bool state_banned(const struct room *r, struct slice source);

/* A mode of a room's MODE lines: its letter, its parameter, and who set it when. */
struct mode {
	char letter;
	struct slice parameter, by, time;
};

/* Iterates over the bans: rest is r->modes at first. Returns false at the end. */
bool state_next_ban(struct slice *rest, struct mode *m);

#endif

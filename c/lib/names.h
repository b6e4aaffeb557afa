/* Names of rooms, nicks and accounts: what they may be, when two are the same, what folder a room
 * has. Pure. */
#ifndef NAMES_H
#define NAMES_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	NICK_MAX = 32, /* bytes */
	ROOM_MAX = 64, /* bytes, '#' included */
	USER_MAX = 16, /* bytes */
	FOLDER_MAX = 200, /* bytes */
};

/* The ASCII lower case of s, and a NUL: two names with the same are the same (CASEMAPPING=ascii). */
bool name_fold(struct slice s, char *to, size_t room);

bool name_same(struct slice a, struct slice b);

/* Whether a name is what the pattern says, * for any bytes and ? for one; ASCII letters of either
 * case are the same. */
bool name_matches(struct slice pattern, struct slice name);

/* A nick is letters, digits and -_[]{}\|`^, begins with no digit and no '-'; an account's name is
 * one too. */
bool name_is_nick(struct slice s);

/* A room is '#' and at least one byte more: no space, control character, ',', '*' or '?'. The
 * caller has checked that it is UTF-8. */
bool name_is_room(struct slice s);

/* A user name out of what a client called itself: what of it may stand in a source, "user" when
 * nothing may. */
void name_clean_user(struct slice s, char to[USER_MAX + 1]);

/* The folder of a name below rooms/ or direct/ (docs/protocol.md, "Data directory"), and a NUL;
 * false when it is too long. */
bool name_folder(struct slice s, char *to, size_t room);

#endif

/* Names of rooms, nicks and accounts: validity, comparison, folders. Pure. */
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

/* Writes s in lower case (ASCII) and a NUL. Two names are equal if these are
 * (CASEMAPPING=ascii). */
bool name_fold(struct slice s, char *to, size_t capacity);

bool name_same(struct slice a, struct slice b);

/* Reports whether a name matches a pattern, in which * stands for any bytes and ? for one. ASCII
 * case is ignored. */
bool name_matches(struct slice pattern, struct slice name);

/* Reports whether s is a nick or account name: letters, digits and -_[]{}\|`^, the first not a
 * digit or '-'. */
bool name_is_nick(struct slice s);

/* Reports whether s is a room name: '#' and at least one byte more, without space, control
 * characters, ',', '*' and '?'. The caller has checked that it is UTF-8. */
bool name_is_room(struct slice s);

/* Makes a valid user name from the one that a client sent; "user" if no character is valid. */
void name_clean_user(struct slice s, char to[USER_MAX + 1]);

/* Writes the folder name of a room or conversation (docs/protocol.md, "The data directory") and a
 * NUL. Returns false if it is too long. */
bool name_folder(struct slice s, char *to, size_t capacity);

#endif

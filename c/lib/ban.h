/* The file "bans" of a data folder (docs/protocol.md, "bans and invites"): who is kept out. */
#ifndef BAN_H
#define BAN_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BAN_REASON_MAX = 300 };

/* Who may be banned; empty where it is not known. */
struct ban_client {
	struct slice account;
	struct slice address; /* as text */
	struct slice mask;    /* NICK!USER@HOST */
};

/* Whether a ban keeps the client out at a time; the reason, "" where none was given. */
bool ban_find(int data, const struct ban_client *who, uint64_t now_ms, char reason[BAN_REASON_MAX + 1]);

#endif

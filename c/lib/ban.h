/* Reads the file "bans" of a data directory (docs/protocol.md, "bans and invites"). */
#ifndef BAN_H
#define BAN_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BAN_REASON_MAX = 300 };

/* The properties of a client that bans match; empty if not known. */
struct ban_client {
	struct slice account;
	struct slice address; /* as text */
	struct slice mask;    /* NICK!USER@HOST */
};

/* Reports whether a ban matches the client at a time, and its reason, "" for none. */
bool ban_find(int data, const struct ban_client *who, uint64_t now_ms, char reason[BAN_REASON_MAX + 1]);

#endif

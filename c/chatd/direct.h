/* Direct conversations of two accounts: their logs and their sessions. */
#ifndef DIRECT_H
#define DIRECT_H

#include "client.h"

/* Opens the conversation of the client's account and another one for writing. Returns NULL if it
 * cannot. */
struct joined *conversation(struct client *c, const char *other);

/* Gets the path and the end of the log of the conversation with an account. Returns false if there
 * is none. */
bool conversation_find(struct client *c, struct slice other, char path[PATH_MAX_ROOM], uint64_t *end);

/*
 * Makes a client that has just registered follow the conversations that are open, and records those
 * of which it may have missed messages. The caller holds names, so that no message comes in
 * between.
 */
void conversations_enter(struct client *c);

/* Replays what the client missed. The caller does not hold names. */
void conversations_replay(struct client *c);

#endif

/* Conversations of two accounts: their logs, and who is told. */
#ifndef DIRECT_H
#define DIRECT_H

#include "client.h"

/* The conversation of the client's account and another, open to be written to; NULL, and nothing,
 * when it cannot be. */
struct joined *conversation(struct client *c, const char *other);

/* Where the log of the conversation with an account is, and how far it reaches; false when there is
 * none. */
bool conversation_find(struct client *c, struct slice other, char path[PATH_MAX_ROOM], uint64_t *end);

/*
 * Has a client that has just got its name follow the conversations that somebody writes to, and notes those of which
 * it may have missed something. Under names, so that nothing is said between.
 */
void conversations_enter(struct client *c);

/* Tells it what it missed; not under names. */
void conversations_replay(struct client *c);

#endif

/* A chatd that a test runs, and clients of it: sockets, no mocks. Every wait has a generous end, at
 * which the test fails. */
#ifndef SERVER_H
#define SERVER_H

#include "check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PEER_BYTES = 1 << 18, PATIENCE_MS = 30000, CHILDREN_MAX = 64 };

/* The host of a client of this machine that has no account, with the secret that server_make gives
 * the server. */
#define GUEST "d2d70205d0.cloak"

struct server {
	const char *program;
	pid_t pid;          /* 0: it does not run */
	pid_t keeper;       /* the one process that is no client's */
	uint16_t port;
	char data[FOLDER_BYTES];
};

/* Makes a data folder of its own; nothing runs yet. */
void server_make(struct server *s, const char *program);
/* Starts it with further arguments, NULL at the end, and waits until it listens. */
void server_start(struct server *s, const char *const *more);
/* SIGTERM, and its exit status; fails the test when it takes longer than two seconds and patience
 * for a busy machine. */
int server_stop(struct server *s);
/* kill -9 to the parent alone. */
void server_kill(struct server *s);
/* The processes of its clients; how many, at most most. */
size_t server_children(const struct server *s, pid_t *pids, size_t most);
/* Waits until there are so many of them. */
void server_expect_children(const struct server *s, size_t count);
/* Removes the data folder. */
void server_remove(struct server *s);
/* Adds an account to the file "accounts". */
void server_account(const struct server *s, const char *name, const char *password);

struct peer {
	int fd;
	size_t length, taken;
	char bytes[PEER_BYTES]; /* what came; lines up to taken were looked at */
	char line[PEER_BYTES];  /* the last one looked at, without its end */
};

void peer_connect(struct peer *p, const struct server *s);
void peer_close(struct peer *p);
void peer_send(struct peer *p, const void *bytes, size_t n);
/* A line, its end added. */
void peer_say(struct peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads the next line; false at the end of the connection. */
bool peer_line(struct peer *p);
/* Reads lines until one holds text, which is in line then. */
void peer_expect(struct peer *p, const char *text);
/* Expects that a line holds text, and that none before it holds other. */
void peer_expect_without(struct peer *p, const char *text, const char *other);
/* Reads until the connection ends. */
void peer_expect_end(struct peer *p);
/* Asks for these capabilities ("" for none), registers, and waits for the welcome. */
void peer_register(struct peer *p, const struct server *s, const char *nick, const char *caps);
/* The same, and joins the room. */
void peer_join(struct peer *p, const struct server *s, const char *nick, const char *caps, const char *room);
/* Says PING and reads up to its PONG: what was said before is durable then. */
void peer_sync(struct peer *p);

#endif

/* A chatd that a test runs, and its clients: real sockets, no mocks. Every wait has a generous
 * limit, after which the test fails. */
#ifndef SERVER_H
#define SERVER_H

#include "check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PEER_BYTES = 1 << 18, WAIT_LIMIT_MS = 30000, CHILDREN_MAX = 64 };

/* The hostname of a local client without an account, from the key that server_make gives the
 * server. */
#define GUEST "d2d70205d0.cloak"

struct server {
	const char *program;
	pid_t pid;          /* 0: not running */
	pid_t keeper;       /* the process that belongs to no client */
	uint16_t port;
	char data[FOLDER_BYTES];
};

/* Creates a data directory; no server runs yet. */
void server_make(struct server *s, const char *program);
/* Starts the server with further arguments, NULL at the end, and waits until it listens. */
void server_start(struct server *s, const char *const *more);
/* Sends SIGTERM and returns the exit status. Fails the test if the server needs longer than two
 * seconds, with an allowance for a busy machine. */
int server_stop(struct server *s);
/* Kills the parent only (SIGKILL). */
void server_kill(struct server *s);
/* Gets the processes of its clients, at most most; returns their number. */
size_t server_children(const struct server *s, pid_t *pids, size_t most);
/* Waits until there are so many of them. */
void server_expect_children(const struct server *s, size_t count);
/* Removes the data directory. */
void server_remove(struct server *s);
/* Adds an account to the file "accounts". */
void server_account(const struct server *s, const char *name, const char *password);

struct peer {
	int fd;
	size_t length, taken;
	char bytes[PEER_BYTES]; /* input; lines up to taken were read */
	char line[PEER_BYTES];  /* the last line read, without its end */
};

void peer_connect(struct peer *p, const struct server *s);
/* The same with a small receive buffer. */
void peer_connect_narrow(struct peer *p, const struct server *s);
void peer_close(struct peer *p);
void peer_send(struct peer *p, const void *bytes, size_t n);
/* Makes the system acknowledge at once what it has received. */
void peer_acknowledge(struct peer *p);
/* Sends a line and its end. */
void peer_say(struct peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads the next line. Returns false at the end of the connection. */
bool peer_line(struct peer *p);
/* Reads lines until one contains text, which is then in line. */
void peer_expect(struct peer *p, const char *text);
/* Reads lines until one contains text. None before it may contain other. */
void peer_expect_without(struct peer *p, const char *text, const char *other);
/* Reads to the end of the connection. */
void peer_expect_end(struct peer *p);
/* Requests these capabilities ("": none), registers, and waits for the welcome. */
void peer_register(struct peer *p, const struct server *s, const char *nick, const char *caps);
/* The same, and joins a room. */
void peer_join(struct peer *p, const struct server *s, const char *nick, const char *caps, const char *room);
/* Sends PING and reads up to the PONG: all earlier messages are durable then. */
void peer_sync(struct peer *p);

#endif

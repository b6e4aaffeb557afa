/* The line-mode client: its state and its parts. */
#ifndef CHATC_H
#define CHATC_H

#include "line.h"
#include "names.h"
#include "slice.h"

#include <stdbool.h>

enum { CHATC_INPUT = 16384, CHATC_TARGET = 128, CHATC_PASSWORD = 257 };

struct chat {
	int fd;
	const char *host, *port;
	char nick[NICK_MAX + 1];
	const char *account;             /* NAME or NAME@DEVICE; NULL: none */
	char password[CHATC_PASSWORD];
	/* target of typed lines: a room or a nick; "": none */
	char target[CHATC_TARGET];
	char **rooms;                    /* rooms to join first, NULL at the end */
	bool welcome;                    /* the client is registered */
	bool leaving;                    /* the client has sent QUIT */
	bool failed;
	char client_first[256], nonce[64]; /* state of SCRAM */
	unsigned char signature[32];     /* server signature that the server has to send */
	bool proven;
};

/* wire.c: sends a line and its end. An error ends the client. */
void wire_say(struct chat *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Connects and returns a descriptor, or -1 after an error on standard error. */
int wire_connect(const char *host, const char *port);

/* login.c */
void login_begin(struct chat *c);
/* Handles AUTHENTICATE and the numerics of SASL. Returns false for any other line. */
bool login_take(struct chat *c, const struct line *l);
/* Reads a password from a file, or without echo from the terminal if file is NULL. Returns false
 * after an error on standard error. */
bool login_password(const char *file, char *to, size_t capacity);

/* show.c: prints a line of the server. */
void show_line(struct chat *c, const struct line *l);

/* say.c: runs a typed line. */
void say_typed(struct chat *c, struct slice text);

#endif

/* The parts of the line-mode client: a connection, what is shown of it, what is said to it. */
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
	/* where what is typed goes: a room or a nick; "" for nowhere */
	char target[CHATC_TARGET];
	char **rooms;                    /* to join first, NULL at the end */
	bool welcome;                    /* the server has let us in */
	bool leaving;                    /* we said QUIT */
	bool failed;
	char client_first[256], nonce[64]; /* of SCRAM */
	unsigned char signature[32];     /* that the server has to prove it knows */
	bool proven;
};

/* wire.c: sends "format" and a line end; what cannot be sent ends the client. */
void wire_say(struct chat *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number that says how the connecting went: a descriptor, or -1 after a sentence on standard
 * error. */
int wire_connect(const char *host, const char *port);

/* login.c */
void login_begin(struct chat *c);
/* Takes an AUTHENTICATE, or a numeric of SASL's; false when the line is none of them. */
bool login_take(struct chat *c, const struct line *l);
/* Reads a password from a file, or from the terminal without showing it when file is NULL; false
 * after a sentence. */
bool login_password(const char *file, char *to, size_t room);

/* show.c: prints a line of the server for a person. */
void show_line(struct chat *c, const struct line *l);

/* say.c: what was typed. */
void say_typed(struct chat *c, struct slice text);

#endif

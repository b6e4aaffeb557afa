/*
 * The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding, and what it checks against:
 * a verifier, from which the password cannot be had. Pure but for the nonce, which the caller gives.
 */
#ifndef SCRAM_H
#define SCRAM_H

#include "sha256.h"
#include "slice.h"

#include <stdbool.h>

enum {
	SCRAM_SALT_MAX = 64,
	SCRAM_NONCE_MAX = 192, /* bytes of the client's and the server's together */
	SCRAM_MESSAGE_MAX = 1024,
};

struct verifier {
	unsigned long iterations;
	unsigned char salt[SCRAM_SALT_MAX];
	size_t salt_length;
	unsigned char stored_key[SHA256_SIZE], server_key[SHA256_SIZE];
};

/* Reads "SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY". */
bool verifier_parse(struct slice text, struct verifier *v);

/* Whether v is of the password. Slow, on purpose. */
bool verifier_proves(const struct verifier *v, struct slice password);

struct scram {
	int step; /* 0: nothing came; 1: the first message was answered */
	char nonce[SCRAM_NONCE_MAX + 1];
	/* the client's first message without its header, a comma, the server's */
	char first[SCRAM_MESSAGE_MAX];
	/* such as "n,,": which the last message must repeat, in base 64 */
	char header[96];
	struct verifier verifier;
};

/* Takes apart the client's first message: the name it is about (still with =2C and =3D, of which no
 * account has any), false when it is malformed. */
bool scram_begin(struct scram *s, struct slice message, struct slice *login);

/* Writes the server's first message, a NUL at its end, for the verifier of that login. own is the
 * server's part of the nonce. */
bool scram_challenge(struct scram *s, const struct verifier *v, const char *own, char *to, size_t room);

/* Checks the client's last message; writes the server's proof. False: refused. */
bool scram_finish(struct scram *s, struct slice message, char *to, size_t room);

#endif

/*
 * The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding, and its
 * verifiers. Pure: the caller provides the nonce.
 */
#ifndef SCRAM_H
#define SCRAM_H

#include "sha256.h"
#include "slice.h"

#include <stdbool.h>

enum {
	SCRAM_SALT_MAX = 64,
	SCRAM_NONCE_MAX = 192, /* bytes of the client's and the server's part together */
	SCRAM_MESSAGE_MAX = 1024,
};

struct verifier {
	unsigned long iterations;
	unsigned char salt[SCRAM_SALT_MAX];
	size_t salt_length;
	unsigned char stored_key[SHA256_SIZE], server_key[SHA256_SIZE];
};

/* Parses "SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY". */
bool verifier_parse(struct slice text, struct verifier *v);

/* Reports whether v is the verifier of the password. Deliberately slow (PBKDF2). */
bool verifier_proves(const struct verifier *v, struct slice password);

struct scram {
	/* 0: start; 1: the client's first message was answered; 2: the last one was checked */
	int step;
	char nonce[SCRAM_NONCE_MAX + 1];
	/* client-first-message-bare, a comma, server-first-message */
	char first[SCRAM_MESSAGE_MAX];
	/* gs2-header, such as "n,,"; the client's last message must repeat it in base64 */
	char header[96];
	struct verifier verifier;
};

/* Parses the client-first-message and gets the login name, in which =2C and =3D are not decoded: no
 * account name has these. Returns false if it is malformed. */
bool scram_begin(struct scram *s, struct slice message, struct slice *login);

/* Writes the server-first-message for the login's verifier, and a NUL. own is the server's part of
 * the nonce. */
bool scram_challenge(struct scram *s, const struct verifier *v, const char *own, char *to, size_t capacity);

/* Checks the client-final-message and writes the server-final-message. Returns false if the proof
 * is wrong. */
bool scram_finish(struct scram *s, struct slice message, char *to, size_t capacity);

#endif

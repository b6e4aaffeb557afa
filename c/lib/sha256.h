/* SHA-256 (FIPS 180-4), HMAC with it (RFC 2104) and PBKDF2 with that (RFC 8018, section 5.2). */
#ifndef SHA256_H
#define SHA256_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_BLOCK = 64 };

struct sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes so far */
	unsigned char block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *data, size_t length);
void sha256_end(struct sha256 *h, unsigned char digest[SHA256_SIZE]);

void sha256(struct slice text, unsigned char digest[SHA256_SIZE]);
void hmac_sha256(struct slice key, struct slice text, unsigned char digest[SHA256_SIZE]);

/* Derives one block of key, as SCRAM needs. iterations is at least 1. */
void pbkdf2_sha256(struct slice password, struct slice salt, unsigned long iterations, unsigned char key[SHA256_SIZE]);

/* Reports whether both are equal, in constant time. */
bool same_secret(const unsigned char *a, const unsigned char *b, size_t length);

#endif

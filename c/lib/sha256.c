#include "sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void
schedule(const unsigned char *block, uint32_t w[64])
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void
compress(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	schedule(block, w);
	memcpy(v, state, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + s1 + choice + constants[i] + w[i];
		uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += t1;
		v[0] = t1 + s0 + majority;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void
sha256_begin(struct sha256 *h)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(h->state, start, sizeof start);
	h->length = 0;
}

void
sha256_add(struct sha256 *h, const void *data, size_t length)
{
	const unsigned char *at = data;

	while (length > 0) {
		size_t used = h->length % SHA256_BLOCK;
		size_t n = SHA256_BLOCK - used < length ? SHA256_BLOCK - used : length;

		memcpy(h->block + used, at, n);
		h->length += n;
		at += n;
		length -= n;
		if (used + n == SHA256_BLOCK)
			compress(h->state, h->block);
	}
}

void
sha256_end(struct sha256 *h, unsigned char digest[SHA256_SIZE])
{
	static const unsigned char padding[SHA256_BLOCK] = { 0x80 };
	uint64_t bits = 8 * h->length;
	size_t used = h->length % SHA256_BLOCK;
	unsigned char tail[8];

	for (int i = 0; i < 8; i++)
		tail[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(h, padding, used < 56 ? 56 - used : 120 - used);
	sha256_add(h, tail, sizeof tail);
	for (int i = 0; i < SHA256_SIZE; i++)
		digest[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void
sha256(struct slice text, unsigned char digest[SHA256_SIZE])
{
	struct sha256 h;

	sha256_begin(&h);
	sha256_add(&h, text.at, text.length);
	sha256_end(&h, digest);
}

/* The inner and outer hash of an HMAC after their key blocks, copied for each text. */
struct keyed {
	struct sha256 inner, outer;
};

static void
key_in(struct keyed *k, struct slice key)
{
	unsigned char block[SHA256_BLOCK] = { 0 };

	if (key.length > SHA256_BLOCK)
		sha256(key, block);
	else if (key.length > 0)
		memcpy(block, key.at, key.length);
	for (int i = 0; i < SHA256_BLOCK; i++)
		block[i] ^= 0x36;
	sha256_begin(&k->inner);
	sha256_add(&k->inner, block, sizeof block);
	for (int i = 0; i < SHA256_BLOCK; i++)
		block[i] ^= 0x36 ^ 0x5c;
	sha256_begin(&k->outer);
	sha256_add(&k->outer, block, sizeof block);
}

static void
keyed_end(const struct keyed *k, struct sha256 *inner, unsigned char digest[SHA256_SIZE])
{
	struct sha256 outer = k->outer;

	sha256_end(inner, digest);
	sha256_add(&outer, digest, SHA256_SIZE);
	sha256_end(&outer, digest);
}

void
hmac_sha256(struct slice key, struct slice text, unsigned char digest[SHA256_SIZE])
{
	struct keyed k;

	key_in(&k, key);
	sha256_add(&k.inner, text.at, text.length);
	keyed_end(&k, &k.inner, digest);
}

void
pbkdf2_sha256(struct slice password, struct slice salt, unsigned long iterations, unsigned char key[SHA256_SIZE])
{
	static const unsigned char first[4] = { 0, 0, 0, 1 };
	unsigned char u[SHA256_SIZE];
	struct keyed k;
	struct sha256 inner;

	key_in(&k, password);
	inner = k.inner;
	sha256_add(&inner, salt.at, salt.length);
	sha256_add(&inner, first, sizeof first);
	keyed_end(&k, &inner, u);
	memcpy(key, u, sizeof u);
	for (unsigned long i = 1; i < iterations; i++) {
		inner = k.inner;
		sha256_add(&inner, u, sizeof u);
		keyed_end(&k, &inner, u);
		for (int n = 0; n < SHA256_SIZE; n++)
			key[n] ^= u[n];
	}
}

bool
same_secret(const unsigned char *a, const unsigned char *b, size_t length)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < length; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

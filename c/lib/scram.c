#include "scram.h"

#include "base64.h"
#include "buffer.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

enum { ITERATIONS_MIN = 4096, ITERATIONS_MAX = 1000000, SALT_MIN = 8 };

static bool
decode(struct slice text, unsigned char *to, size_t exactly)
{
	return base64_decode(text, to, exactly) == (long)exactly;
}

bool
verifier_parse(struct slice text, struct verifier *v)
{
	struct slice name = slice_cut(&text, '$'), iterations = slice_cut(&text, ':');
	struct slice salt = slice_cut(&text, '$'), stored = slice_cut(&text, ':');
	unsigned long long n;
	long length;

	if (!slice_equal(name, slice_of("SCRAM-SHA-256")) || !slice_number(iterations, ITERATIONS_MAX, &n) || n < ITERATIONS_MIN)
		return false;
	length = base64_decode(salt, v->salt, sizeof v->salt);
	if (length < SALT_MIN)
		return false;
	v->iterations = (unsigned long)n;
	v->salt_length = (size_t)length;
	return decode(stored, v->stored_key, SHA256_SIZE) && decode(text, v->server_key, SHA256_SIZE);
}

static struct slice
digest(const unsigned char *bytes)
{
	return (struct slice){ (const char *)bytes, SHA256_SIZE };
}

static void
stored_key_of(const unsigned char client_key[SHA256_SIZE], unsigned char stored[SHA256_SIZE])
{
	sha256(digest(client_key), stored);
}

bool
verifier_proves(const struct verifier *v, struct slice password)
{
	unsigned char salted[SHA256_SIZE], key[SHA256_SIZE], stored[SHA256_SIZE];

	pbkdf2_sha256(password, (struct slice){ (const char *)v->salt, v->salt_length }, v->iterations, salted);
	hmac_sha256(digest(salted), slice_of("Client Key"), key);
	stored_key_of(key, stored);
	return same_secret(stored, v->stored_key, SHA256_SIZE);
}

/* Takes an attribute such as "r=…" off the front. */
static bool
attribute(struct slice *rest, const char *name, struct slice *value)
{
	*value = slice_cut(rest, ',');
	if (!slice_starts(*value, name))
		return false;
	value->at += strlen(name);
	value->length -= strlen(name);
	return true;
}

/* Reports whether the authzid is the account that logs in: no other is allowed. */
static bool
acts_for_itself(struct slice authzid, struct slice login)
{
	struct slice name = slice_cut(&login, '@');

	if (!slice_starts(authzid, "a="))
		return false;
	authzid = (struct slice){ authzid.at + 2, authzid.length - 2 };
	return name_same(slice_cut(&authzid, '@'), name);
}

bool
scram_begin(struct scram *s, struct slice message, struct slice *login)
{
	struct slice rest = message;
	struct slice binding = slice_cut(&rest, ','), authzid = slice_cut(&rest, ',');
	struct slice bare = rest, nonce;

	memset(s, 0, sizeof *s);
	if (!slice_equal(binding, slice_of("n")) && !slice_equal(binding, slice_of("y")))
		return false;
	if (!slice_copy(slice_between(message.at, bare.at), s->header, sizeof s->header))
		return false;
	if (!attribute(&rest, "n=", login) || !attribute(&rest, "r=", &nonce) || rest.length > 0 || nonce.length < 8)
		return false;
	if (authzid.length > 0 && !acts_for_itself(authzid, *login))
		return false;
	return slice_copy(nonce, s->nonce, SCRAM_NONCE_MAX / 2) && slice_copy(bare, s->first, SCRAM_MESSAGE_MAX / 2);
}

bool
scram_challenge(struct scram *s, const struct verifier *v, const char *own, char *to, size_t capacity)
{
	char salt[BASE64_LENGTH(SCRAM_SALT_MAX) + 1];
	struct buffer message = { .at = to, .capacity = capacity }, all = BUFFER_IN(s->first);

	s->verifier = *v;
	s->step = 1;
	if (strlen(s->nonce) + strlen(own) > SCRAM_NONCE_MAX)
		return false;
	memcpy(s->nonce + strlen(s->nonce), own, strlen(own) + 1);
	base64_encode(v->salt, v->salt_length, salt);
	buffer_format(&message, "r=%s,s=%s,i=%lu", s->nonce, salt, v->iterations);
	all.length = strlen(s->first);
	if (!message.full)
		buffer_format(&all, ",%s", to);
	return !message.full && !all.full;
}

/* Signs the AuthMessage (RFC 5802, section 3): the first messages and the last one without the
 * proof. */
static void
sign(const struct scram *s, struct slice without_proof, const unsigned char key[SHA256_SIZE], unsigned char signature[SHA256_SIZE])
{
	char text[2 * SCRAM_MESSAGE_MAX + 1];
	struct buffer all = BUFFER_IN(text);

	buffer_text(&all, s->first);
	buffer_text(&all, ",");
	buffer_add(&all, without_proof);
	hmac_sha256(digest(key), buffer_slice(&all), signature);
}

static bool
repeats(const struct scram *s, struct slice binding, struct slice nonce)
{
	char header[BASE64_LENGTH(sizeof s->header) + 1];

	base64_encode(s->header, strlen(s->header), header);
	return slice_equal(binding, slice_of(header)) && slice_equal(nonce, slice_of(s->nonce));
}

bool
scram_finish(struct scram *s, struct slice message, char *to, size_t capacity)
{
	unsigned char proof[SHA256_SIZE], signature[SHA256_SIZE], stored[SHA256_SIZE];
	char text[BASE64_LENGTH(SHA256_SIZE) + 1];
	struct slice rest = message, binding, nonce, sent, without;

	if (s->step != 1 || message.length > SCRAM_MESSAGE_MAX || !attribute(&rest, "c=", &binding) || !attribute(&rest, "r=", &nonce))
		return false;
	s->step = 2;
	without = slice_between(message.at, nonce.at + nonce.length);
	if (!attribute(&rest, "p=", &sent) || rest.length > 0 || !repeats(s, binding, nonce) || !decode(sent, proof, SHA256_SIZE))
		return false;
	sign(s, without, s->verifier.stored_key, signature);
	for (int i = 0; i < SHA256_SIZE; i++)
		proof[i] ^= signature[i]; /* the ClientKey, if the client has it */
	stored_key_of(proof, stored);
	if (!same_secret(stored, s->verifier.stored_key, SHA256_SIZE))
		return false;
	sign(s, without, s->verifier.server_key, signature);
	base64_encode(signature, SHA256_SIZE, text);
	return (size_t)snprintf(to, capacity, "v=%s", text) < capacity;
}

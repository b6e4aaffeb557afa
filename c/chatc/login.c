/* The client's side of SASL SCRAM-SHA-256 (RFC 5802): the password does not leave this machine, and
 * the server has to prove that it knows it. */
#include "chatc.h"

#include "base64.h"
#include "buffer.h"
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1024, NONCE_BYTES = 18, ITERATIONS_MAX = 1000000, SALT_MAX = 64 };

static struct slice
digest(const unsigned char *bytes)
{
	return (struct slice){ (const char *)bytes, SHA256_SIZE };
}

static void
send_message(struct chat *c, const char *message)
{
	char text[BASE64_LENGTH(MESSAGE_MAX) + 1];

	base64_encode(message, strlen(message), text);
	/* always shorter than a part: names and nonces are short */
	wire_say(c, "AUTHENTICATE %s", text);
}

static void
give_up(struct chat *c, const char *why)
{
	fprintf(stderr, "chatc: cannot log in as %s: %s\n", c->account, why);
	c->failed = true;
}

void
login_begin(struct chat *c)
{
	if (c->account == NULL)
		wire_say(c, "CAP END");
	else
		wire_say(c, "AUTHENTICATE SCRAM-SHA-256");
}

static void
first(struct chat *c)
{
	unsigned char random[NONCE_BYTES];
	char message[MESSAGE_MAX];
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, random, sizeof random) != (ssize_t)sizeof random) {
		give_up(c, "cannot read /dev/urandom");
		return;
	}
	close(fd);
	base64_encode(random, sizeof random, c->nonce);
	snprintf(c->client_first, sizeof c->client_first, "n=%s,r=%s", c->account, c->nonce);
	snprintf(message, sizeof message, "n,,%s", c->client_first);
	send_message(c, message);
}

/* Splits "r=NONCE,s=SALT,i=N". */
static bool
parse_challenge(struct slice text, struct slice *nonce, unsigned char *salt, size_t *salt_length, unsigned long *iterations)
{
	struct slice r = slice_cut(&text, ','), s = slice_cut(&text, ',');
	unsigned long long n;
	long length;

	if (!slice_starts(r, "r=") || !slice_starts(s, "s=") || !slice_starts(text, "i="))
		return false;
	*nonce = (struct slice){ r.at + 2, r.length - 2 };
	length = base64_decode((struct slice){ s.at + 2, s.length - 2 }, salt, SALT_MAX);
	if (length <= 0 || !slice_number((struct slice){ text.at + 2, text.length - 2 }, ITERATIONS_MAX, &n) || n < 4096)
		return false;
	*salt_length = (size_t)length;
	*iterations = (unsigned long)n;
	return true;
}

static void
answer(struct chat *c, struct slice challenge)
{
	unsigned char salt[SALT_MAX], salted[SHA256_SIZE], key[SHA256_SIZE], stored[SHA256_SIZE], proof[SHA256_SIZE];
	char all[2 * MESSAGE_MAX], last[MESSAGE_MAX], text[BASE64_LENGTH(SHA256_SIZE) + 1];
	struct slice nonce;
	size_t salt_length;
	unsigned long iterations;

	if (!parse_challenge(challenge, &nonce, salt, &salt_length, &iterations) || !slice_starts(nonce, c->nonce)) {
		give_up(c, "the server's answer is malformed");
		return;
	}
	pbkdf2_sha256(slice_of(c->password), (struct slice){ (const char *)salt, salt_length }, iterations, salted);
	hmac_sha256(digest(salted), slice_of("Client Key"), key);
	sha256(digest(key), stored);
	snprintf(last, sizeof last, "c=biws,r=%.*s", (int)nonce.length, nonce.at);
	snprintf(all, sizeof all, "%s,%.*s,%s", c->client_first, (int)challenge.length, challenge.at, last);
	hmac_sha256(digest(stored), slice_of(all), proof);
	for (int i = 0; i < SHA256_SIZE; i++)
		proof[i] ^= key[i];
	hmac_sha256(digest(salted), slice_of("Server Key"), key);
	hmac_sha256(digest(key), slice_of(all), c->signature);
	base64_encode(proof, SHA256_SIZE, text);
	snprintf(last + strlen(last), sizeof last - strlen(last), ",p=%s", text);
	send_message(c, last);
}

static void
check(struct chat *c, struct slice message)
{
	unsigned char signature[SHA256_SIZE];

	if (!slice_starts(message, "v=") ||
	    base64_decode((struct slice){ message.at + 2, message.length - 2 }, signature, sizeof signature) != SHA256_SIZE ||
	    !same_secret(signature, c->signature, SHA256_SIZE)) {
		give_up(c, "the server could not prove that it knows the password: it may be an impostor");
		return;
	}
	c->proven = true;
	wire_say(c, "AUTHENTICATE +");
}

static void
take_message(struct chat *c, struct slice text)
{
	char message[MESSAGE_MAX];
	long n;

	if (slice_equal(text, slice_of("+"))) {
		first(c);
		return;
	}
	n = base64_decode(text, message, sizeof message);
	if (n < 0)
		give_up(c, "the server's answer is malformed");
	else if (slice_starts((struct slice){ message, (size_t)n }, "r="))
		answer(c, (struct slice){ message, (size_t)n });
	else
		check(c, (struct slice){ message, (size_t)n });
}

bool
login_take(struct chat *c, const struct line *l)
{
	if (slice_is(l->command, "AUTHENTICATE")) {
		take_message(c, line_param(l, 0));
	} else if (slice_is(l->command, "903")) {
		if (c->proven)
			wire_say(c, "CAP END");
		else
			give_up(c, "the server has not proven that it knows the password");
	} else if (slice_is(l->command, "904") || slice_is(l->command, "908")) {
		give_up(c, "the name or the password is wrong, or the server does not know SCRAM-SHA-256");
	} else {
		return false;
	}
	return true;
}

static bool
read_line(int fd, char *to, size_t capacity)
{
	size_t n = 0;
	char byte;

	while (n < capacity - 1 && read(fd, &byte, 1) == 1 && byte != '\n')
		to[n++] = byte;
	to[n] = '\0';
	return n > 0;
}

static bool
ask(char *to, size_t capacity)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	struct termios before, quiet;
	bool fine;

	if (fd < 0 || tcgetattr(fd, &before) != 0) {
		fprintf(stderr, "chatc: no terminal to ask for the password: use --password-file FILE\n");
		return false;
	}
	quiet = before;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(fd, TCSAFLUSH, &quiet);
	dprintf(fd, "Password: ");
	fine = read_line(fd, to, capacity);
	tcsetattr(fd, TCSAFLUSH, &before);
	dprintf(fd, "\n");
	close(fd);
	return fine;
}

bool
login_password(const char *file, char *to, size_t capacity)
{
	int fd;
	bool fine;

	if (file == NULL)
		return ask(to, capacity);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "chatc: cannot open %s: %s\n", file, strerror(errno));
		return false;
	}
	fine = read_line(fd, to, capacity);
	close(fd);
	if (!fine)
		fprintf(stderr, "chatc: the first line of %s is empty, want the password\n", file);
	return fine;
}

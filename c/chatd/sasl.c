/* AUTHENTICATE (IRCv3 SASL 3.2): PLAIN and SCRAM-SHA-256. The slow hash of PLAIN delays only this
 * client. */
#include "client.h"

#include "account.h"
#include "base64.h"
#include "clock.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 400, FAILURES_MAX = 5, NONCE_BYTES = 18 };

/* Key of decoy verifiers: the file "secret" of the data directory, the same for all processes and
 * after each start. */
static unsigned char secret[SHA256_SIZE];

/* opened before the sandbox forbids it */
static int random_source = -1;

static bool
random_bytes(unsigned char *to, size_t n)
{
	return random_source >= 0 && read(random_source, to, n) == (ssize_t)n;
}

static bool
read_secret(int data)
{
	char text[2 * SHA256_SIZE];
	int fd = openat(data, "secret", O_RDONLY | O_CLOEXEC);
	bool fine = fd >= 0 && read(fd, text, sizeof text) == (ssize_t)sizeof text;

	for (int i = 0; i < SHA256_SIZE && fine; i++) {
		unsigned value = 0;

		for (int k = 0; k < 2 && fine; k++) {
			const char *digits = "0123456789abcdef", *at = strchr(digits, text[2 * i + k]);

			fine = at != NULL && text[2 * i + k] != '\0';
			value = 16 * value + (fine ? (unsigned)(at - digits) : 0);
		}
		secret[i] = (unsigned char)value;
	}
	if (fd >= 0)
		close(fd);
	return fine;
}

static bool
make_secret(int data)
{
	unsigned char random[SHA256_SIZE];
	char text[2 * SHA256_SIZE + 2];
	int fd = openat(data, ".secret.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool fine = fd >= 0 && random_bytes(random, sizeof random);

	for (int i = 0; i < SHA256_SIZE && fine; i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	text[2 * SHA256_SIZE] = '\n';
	fine = fine && write(fd, text, 2 * SHA256_SIZE + 1) == 2 * SHA256_SIZE + 1 && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	return fine && renameat(data, ".secret.tmp", data, "secret") == 0 && fsync(data) == 0;
}

void
sasl_init(int data)
{
	int lock;

	random_source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	lock = openat(data, "accounts.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || !log_flock(lock) || (!read_secret(data) && (!make_secret(data) || !read_secret(data))))
		fatal("cannot read or create the file \"secret\": %s", strerror(errno));
	close(lock);
}

/* Sets the hostname that others see of a client without an account: the same for the same address,
 * which it does not reveal. */
void
cloak(struct client *c)
{
	char text[HOST_MAX + 8];
	unsigned char sum[SHA256_SIZE];
	int n = snprintf(text, sizeof text, "cloak %s", c->me->address);

	hmac_sha256((struct slice){ (const char *)secret, sizeof secret }, (struct slice){ text, (size_t)n }, sum);
	names_take(c->t);
	snprintf(c->me->host, sizeof c->me->host, "%02x%02x%02x%02x%02x.cloak", sum[0], sum[1], sum[2], sum[3], sum[4]);
	names_release(c->t);
}

bool
plain_allowed(const struct client *c)
{
	return c->loopback || c->o->plain;
}

/* Finds the account of a login, or a decoy in its place, so that the following steps take the same
 * time. */
static bool
find(struct client *c, struct slice login, struct account *a, char device[DEVICE_MAX + 1])
{
	struct slice name;
	bool well_formed = account_login(login, &name, device, DEVICE_MAX + 1);

	if (well_formed && account_find(c->data, name, a) && a->has_password)
		return true;
	account_decoy((struct slice){ (const char *)secret, sizeof secret }, name, &a->verifier);
	return false;
}

static void
logged_in(struct client *c, const char *name, const char *device)
{
	char folded[NICK_MAX + 1];

	(void)name_fold(slice_of(name), folded, sizeof folded);
	names_take(c->t);
	(void)slice_copy(slice_of(name), c->me->account, sizeof c->me->account);
	snprintf(c->me->host, sizeof c->me->host, "%s.account", folded);
	(void)slice_copy(slice_of(device), c->me->device, sizeof c->me->device);
	names_release(c->t);
}

/* Reports whether a login may be tried now. If not, wait has the seconds. */
static bool
may_try(struct client *c, struct slice login)
{
	struct slice name = slice_cut(&login, '@');

	c->trying = (struct login){ .name = "" };
	if (!name_fold(name, c->trying.name, sizeof c->trying.name))
		c->trying.name[0] = '\0';
	if (!c->loopback)
		memcpy(c->trying.network, c->me->network, sizeof c->trying.network);
	names_take(c->t);
	c->wait = guess_wait(&c->t->guesses, &c->trying, clock_steady());
	names_release(c->t);
	return c->wait == 0;
}

/* Counts the result of a login and returns it. */
static bool
tried(struct client *c, bool right)
{
	names_take(c->t);
	if (right)
		guess_right(&c->t->guesses, &c->trying, clock_steady());
	else
		guess_failed(&c->t->guesses, &c->trying, clock_steady());
	names_release(c->t);
	return right;
}

bool
log_in_plain(struct client *c, struct slice login, struct slice password)
{
	struct account a;
	char device[DEVICE_MAX + 1];
	bool known, proven;

	if (!may_try(c, login))
		return false;
	known = find(c, login, &a, device);
	proven = account_checkable(password) && verifier_proves(&a.verifier, password);
	if (!tried(c, known && proven))
		return false;
	logged_in(c, a.name, device);
	return true;
}

static void
end(struct client *c, bool fine)
{
	c->how = SASL_NONE;
	c->sasl_length = 0;
	if (fine) {
		numeric(c, 900, "%s!%s@%s %s :You are now logged in as %s", c->me->nick[0] != '\0' ? c->me->nick : "*",
		    c->me->user[0] != '\0' ? c->me->user : "*", c->me->host, c->me->account, c->me->account);
		numeric(c, 903, ":SASL authentication successful");
	} else {
		if (c->wait > 0)
			numeric(c, 904, ":SASL authentication failed: too many attempts, try again in %u s", c->wait);
		else
			numeric(c, 904, ":SASL authentication failed: the name or the password is wrong");
		if (++c->failures >= FAILURES_MAX)
			close_client(c, "too many failed logins");
	}
	try_register(c);
}

static void
plain(struct client *c, struct slice message)
{
	struct slice authzid = slice_cut(&message, '\0'), login = slice_cut(&message, '\0');
	struct slice name = login;

	name = slice_cut(&name, '@');
	if (slice_has(message, '\0') || (authzid.length > 0 && !name_same(authzid, login) && !name_same(authzid, name)))
		end(c, false);
	else
		end(c, log_in_plain(c, login, message));
}

static void
say(struct client *c, const char *message)
{
	char text[BASE64_LENGTH(SCRAM_MESSAGE_MAX) + 1];
	struct slice rest;

	base64_encode(message, strlen(message), text);
	rest = slice_of(text);
	while (rest.length >= CHUNK) {
		answer(c, "AUTHENTICATE %.*s", CHUNK, rest.at);
		rest.at += CHUNK;
		rest.length -= CHUNK;
	}
	answer(c, "AUTHENTICATE %s", rest.length > 0 ? rest.at : "+");
}

static void
scram_first(struct client *c, struct slice message)
{
	unsigned char random[NONCE_BYTES];
	char own[BASE64_LENGTH(NONCE_BYTES) + 1], text[SCRAM_MESSAGE_MAX];
	struct account a = { .name = "" };
	struct slice login;
	bool known;

	if (!scram_begin(&c->scram, message, &login) || !random_bytes(random, sizeof random)) {
		end(c, false);
		return;
	}
	if (!may_try(c, login)) {
		end(c, false);
		return;
	}
	known = find(c, login, &a, c->me->device);
	base64_encode(random, sizeof random, own);
	if (!scram_challenge(&c->scram, &a.verifier, own, text, sizeof text)) {
		end(c, false);
		return;
	}
	/* the account if the proof is right; the proof of a decoy never is */
	(void)slice_copy(slice_of(known ? a.name : ""), c->scram_name, sizeof c->scram_name);
	(void)slice_copy(slice_of(c->me->device), c->scram_device, sizeof c->scram_device);
	c->me->device[0] = '\0';
	say(c, text);
}

static void
scram_last(struct client *c, struct slice message)
{
	char text[SCRAM_MESSAGE_MAX];

	if (!tried(c, scram_finish(&c->scram, message, text, sizeof text) && c->scram_name[0] != '\0')) {
		end(c, false);
		return;
	}
	logged_in(c, c->scram_name, c->scram_device);
	say(c, text);
	c->scram.step = 3; /* the client answers "+", and then receives 900 and 903 */
}

static void
step(struct client *c, struct slice message)
{
	if (c->how == SASL_PLAIN)
		plain(c, message);
	else if (c->scram.step == 0)
		scram_first(c, message);
	else if (c->scram.step == 1)
		scram_last(c, message);
	else
		end(c, c->scram.step == 3 && message.length == 0);
}

/* Collects the parts of a message: one that is shorter than CHUNK is the last. */
static void
collect(struct client *c, struct slice chunk)
{
	unsigned char message[SASL_MAX];
	long n;

	if (slice_equal(chunk, slice_of("+")))
		chunk.length = 0;
	if (chunk.length > CHUNK || c->sasl_length + chunk.length > sizeof c->sasl_text) {
		numeric(c, 905, ":SASL message too long");
		end(c, false);
		return;
	}
	if (chunk.length > 0)
		memcpy(c->sasl_text + c->sasl_length, chunk.at, chunk.length);
	c->sasl_length += chunk.length;
	if (chunk.length == CHUNK)
		return;
	n = base64_decode((struct slice){ c->sasl_text, c->sasl_length }, message, sizeof message);
	c->sasl_length = 0;
	if (n < 0)
		end(c, false);
	else
		step(c, (struct slice){ (const char *)message, (size_t)n });
	memset(message, 0, sizeof message);
}

void
command_authenticate(struct client *c, const struct line *l)
{
	struct slice text = line_param(l, 0);

	if (c->registered || c->me->account[0] != '\0') {
		if (c->how == SASL_NONE) {
			numeric(c, 907, ":You have already authenticated");
			return;
		}
	}
	if (slice_equal(text, slice_of("*"))) {
		c->how = SASL_NONE;
		c->sasl_length = 0;
		numeric(c, 906, ":SASL authentication aborted");
	} else if (c->how != SASL_NONE) {
		collect(c, text);
	} else if (slice_is(text, "SCRAM-SHA-256") || (slice_is(text, "PLAIN") && plain_allowed(c))) {
		c->how = slice_is(text, "PLAIN") ? SASL_PLAIN : SASL_SCRAM;
		c->scram.step = 0;
		c->wait = 0;
		answer(c, "AUTHENTICATE +");
	} else {
		numeric(c, 908, "%s :are available SASL mechanisms", plain_allowed(c) ? "PLAIN,SCRAM-SHA-256" : "SCRAM-SHA-256");
		numeric(c, 904, ":SASL authentication failed: this mechanism is not offered");
	}
}

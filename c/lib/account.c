#include "account.h"

#include "words.h"

#include <string.h>

/* DECOY_ITERATIONS is the number that new accounts get: a decoy looks like one. */
enum { DEVICE_MAX_BYTES = 32, DECOY_ITERATIONS = 10000, PASSWORD_MAX = 256 };

struct search {
	struct slice name;
	struct account *account;
};

/* A line of the file is NAME VERIFIER [ATTRIBUTE[=VALUE]]... A verifier "-" allows no login by
 * password. */

/* Reports whether the attributes mark the account as removed. Unknown attributes are ignored. */
static bool
is_removed(struct slice attributes)
{
	struct slice attribute;

	while ((attribute = word_cut(&attributes)).length > 0)
		if (slice_equal(slice_cut(&attribute, '='), slice_of("removed")))
			return true;
	return false;
}

/* Reads a line if it is that of the account that is searched for. Returns true to end the search:
 * the first line with the name counts, even if it is damaged. */
static bool
take_line(void *context, struct slice line)
{
	struct search *s = context;
	struct slice whole = line, name = word_cut(&line), verifier = word_cut(&line);
	bool no_password = slice_equal(verifier, slice_of("-")), verifier_ok;

	if (name.length == 0 || *name.at == '#' || !name_same(name, s->name) || !slice_copy(name, s->account->name, sizeof s->account->name))
		return false;
	verifier_ok = !no_password && verifier_parse(verifier, &s->account->verifier);
	s->account->usable = name_is_nick(name) && words_readable(whole) && (no_password || verifier_ok) && !is_removed(line);
	s->account->has_password = s->account->usable && verifier_ok;
	return true;
}

bool
account_find(int data, struct slice name, struct account *a)
{
	return lines_find(data, "accounts", take_line, &(struct search){ name, a }) && a->usable;
}

static bool
is_device(struct slice s)
{
	for (size_t i = 0; i < s.length; i++) {
		char c = s.at[i];
		bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!alnum && (i == 0 || (c != '-' && c != '_' && c != '.')))
			return false;
	}
	return s.length > 0 && s.length <= DEVICE_MAX_BYTES;
}

bool
account_login(struct slice login, struct slice *name, char *device, size_t device_size)
{
	bool has_device = slice_has(login, '@');

	*name = slice_cut(&login, '@');
	device[0] = '\0';
	return name_is_nick(*name) && (!has_device || (is_device(login) && name_fold(login, device, device_size)));
}

bool
account_checkable(struct slice password)
{
	for (size_t i = 0; i < password.length; i++)
		if (password.at[i] < ' ' || password.at[i] > '~')
			return false;
	return password.length <= PASSWORD_MAX;
}

void
account_decoy(struct slice secret, struct slice name, struct verifier *v)
{
	char folded[SCRAM_MESSAGE_MAX];
	unsigned char salt[SHA256_SIZE];

	memset(v, 0, sizeof *v);
	v->iterations = DECOY_ITERATIONS;
	v->salt_length = 16;
	if (!name_fold(name, folded, sizeof folded))
		folded[0] = '\0';
	hmac_sha256(secret, slice_of(folded), salt);
	memcpy(v->salt, salt, v->salt_length);
	hmac_sha256(secret, slice_of("stored key of a decoy"), v->stored_key);
	hmac_sha256(secret, slice_of("server key of a decoy"), v->server_key);
}

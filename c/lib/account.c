#include "account.h"

#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 8192, LINE_MAX_BYTES = 4096, DEVICE_MAX_BYTES = 32, DECOY_ITERATIONS = 10000 };

static bool
blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct slice
word(struct slice *rest)
{
	size_t first = 0, end;

	while (first < rest->length && blank(rest->at[first]))
		first++;
	for (end = first; end < rest->length && !blank(rest->at[end]); end++)
		continue;
	struct slice found = { rest->at + first, end - first };

	*rest = slice_between(rest->at + end, rest->at + rest->length);
	return found;
}

static bool
is_role(struct slice s)
{
	return slice_equal(s, slice_of("member")) || slice_equal(s, slice_of("operator")) || slice_equal(s, slice_of("admin"));
}

/* Whether all words that follow the verifier leave the account one that can be used. */
static bool
keys_fine(struct slice rest)
{
	struct slice key;

	while ((key = word(&rest)).length > 0) {
		struct slice value = key, name = slice_cut(&value, '=');

		if (slice_equal(name, slice_of("removed")) || (slice_equal(name, slice_of("role")) && !is_role(value)))
			return false;
	}
	return true;
}

static bool
is_text(struct slice line)
{
	for (size_t i = 0; i < line.length; i++)
		if (((unsigned char)line.at[i] < ' ' && line.at[i] != '\t') || line.at[i] == 0x7F)
			return false;
	return line.length <= LINE_MAX_BYTES && line_utf8(line);
}

/* Whether the line begins with the account's name: the first that does counts, even when it can't be used. */
static bool
take_line(struct slice line, struct slice name, struct account *a)
{
	struct slice first, second;
	bool text;

	if (line.length > 0 && line.at[line.length - 1] == '\r')
		line.length--;
	text = is_text(line);
	first = word(&line);
	second = word(&line);
	if (first.length == 0 || *first.at == '#' || !name_same(first, name) || !slice_copy(first, a->name, sizeof a->name))
		return false;
	a->has_password = text && verifier_parse(second, &a->verifier) && keys_fine(line);
	return true;
}

/* Goes through the whole lines of a block; how many bytes they are. */
static size_t
take_lines(const char *block, size_t n, struct slice name, struct account *a, bool *found)
{
	struct slice rest = { block, n };

	while (!*found && slice_has(rest, '\n'))
		*found = take_line(slice_cut(&rest, '\n'), name, a);
	return n - rest.length;
}

bool
account_find(int data, struct slice name, struct account *a)
{
	int fd = openat(data, "accounts", O_RDONLY | O_CLOEXEC);
	char block[BLOCK];
	size_t n = 0;
	bool found = false;

	while (fd >= 0 && !found) {
		ssize_t got = read(fd, block + n, sizeof block - 1 - n);
		size_t used;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) { /* the last line may have no end */
			block[n] = '\n';
			take_lines(block, n + 1, name, a, &found);
			break;
		}
		n += (size_t)got;
		used = take_lines(block, n, name, a, &found);
		if (used == 0 && n >= LINE_MAX_BYTES)
			used = n; /* no line of this file: what follows its end is looked at again */
		memmove(block, block + used, n - used);
		n -= used;
	}
	if (fd >= 0)
		close(fd);
	return found;
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
account_login(struct slice login, struct slice *name, char *device, size_t room)
{
	bool named = slice_has(login, '@');

	*name = slice_cut(&login, '@');
	device[0] = '\0';
	return name_is_nick(*name) && (!named || (is_device(login) && name_fold(login, device, room)));
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
	hmac_sha256(secret, slice_of("nobody knows"), v->stored_key);
	hmac_sha256(secret, slice_of("this either"), v->server_key);
}

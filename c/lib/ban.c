#include "ban.h"

#include "names.h"
#include "words.h"

#include <arpa/inet.h>
#include <string.h>

enum { PATTERN_MAX = 200, ADDRESS_BITS = 128, MAPPED_BITS = 96 };

/* An IPv6 address. An IPv4 address is in its mapped form, ::ffff:a.b.c.d (RFC 4291, section
 * 2.5.5.2). */
struct address {
	bool old; /* IPv4 */
	unsigned char bytes[ADDRESS_BITS / 8];
};

static const unsigned char mapped[MAPPED_BITS / 8] = { [10] = 0xFF, [11] = 0xFF };

static bool
address_parse(struct slice text, struct address *a)
{
	char copy[INET6_ADDRSTRLEN + 1];

	if (!slice_copy(text, copy, sizeof copy))
		return false;
	memcpy(a->bytes, mapped, sizeof mapped);
	a->old = inet_pton(AF_INET, copy, a->bytes + sizeof mapped) == 1;
	if (a->old)
		return true;
	if (inet_pton(AF_INET6, copy, a->bytes) != 1)
		return false;
	a->old = memcmp(a->bytes, mapped, sizeof mapped) == 0;
	return true;
}

/* Parses ADDRESS or ADDRESS/BITS. bits is the prefix length of the IPv6 form. */
static bool
network_parse(struct slice text, struct address *a, unsigned *bits)
{
	bool network = slice_has(text, '/'), short_form;
	struct slice address = slice_cut(&text, '/');
	unsigned long long n = ADDRESS_BITS;

	short_form = !slice_has(address, ':');
	if (!address_parse(address, a) || (network && !slice_number(text, short_form ? 32 : ADDRESS_BITS, &n)))
		return false;
	if (network && short_form)
		n += MAPPED_BITS;
	a->old = a->old && n >= MAPPED_BITS;
	*bits = (unsigned)n;
	return n > (a->old ? MAPPED_BITS : 0); /* a prefix of length 0 would match every client */
}

static bool
same_bits(const struct address *a, const struct address *b, unsigned bits)
{
	unsigned rest = bits % 8, whole = bits / 8;

	if (a->old != b->old || memcmp(a->bytes, b->bytes, whole) != 0)
		return false;
	return rest == 0 || a->bytes[whole] >> (8 - rest) == b->bytes[whole] >> (8 - rest);
}

static bool
is_mask(struct slice pattern)
{
	bool mask = false, something = false;

	for (size_t i = 0; i < pattern.length; i++) {
		bool special = pattern.at[i] != '\0' && strchr("*?!@", pattern.at[i]) != NULL;

		mask = mask || special;
		something = something || !special;
	}
	return mask && something;
}

static bool
pattern_fits(struct slice pattern, const struct ban_client *who)
{
	struct address network, address;
	unsigned bits;

	if (pattern.length > PATTERN_MAX || slice_has(pattern, '#'))
		return false;
	if (network_parse(pattern, &network, &bits))
		return address_parse(who->address, &address) && same_bits(&network, &address, bits);
	if (is_mask(pattern))
		return name_matches(pattern, who->mask);
	return name_is_nick(pattern) && who->account.length > 0 && name_same(pattern, who->account);
}

struct search {
	const struct ban_client *who;
	uint64_t now;
	char *reason;
};

/* Reports whether the ban of a line matches the client. A ban with an unreadable time does not. */
static bool
take_ban(void *context, struct slice line)
{
	struct search *s = context;
	struct slice whole = line, pattern = word_cut(&line), key;
	uint64_t time;

	if (pattern.length == 0 || *pattern.at == '#' || !words_readable(whole) || !pattern_fits(pattern, s->who))
		return false;
	s->reason[0] = '\0';
	while ((key = word_cut(&line)).length > 0) {
		struct slice value = key, name = slice_cut(&value, '=');
		bool until = slice_equal(name, slice_of("until"));

		if ((until || slice_equal(name, slice_of("created"))) && !word_time(value, &time))
			return false;
		if (until && s->now >= time)
			return false;
		if (slice_equal(name, slice_of("reason")))
			word_value(value, s->reason, BAN_REASON_MAX + 1);
	}
	return true;
}

bool
ban_find(int data, const struct ban_client *who, uint64_t now_ms, char reason[BAN_REASON_MAX + 1])
{
	return lines_find(data, "bans", take_ban, &(struct search){ who, now_ms, reason });
}

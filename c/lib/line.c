#include "line.h"

#include <stdint.h>
#include <string.h>

static void
skip_spaces(struct slice *rest)
{
	while (rest->length > 0 && *rest->at == ' ') {
		rest->at++;
		rest->length--;
	}
}

/* Takes the first word without its mark, if it starts with that. */
static struct slice
marked(struct slice *rest, char mark)
{
	struct slice none = { rest->at, 0 };

	if (rest->length == 0 || *rest->at != mark)
		return none;
	rest->at++;
	rest->length--;
	return slice_cut(rest, ' ');
}

static bool
is_command(struct slice s)
{
	for (size_t i = 0; i < s.length; i++) {
		char c = s.at[i];

		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
			return false;
	}
	return s.length > 0;
}

static void
take_params(struct slice rest, struct line *l)
{
	for (skip_spaces(&rest); rest.length > 0 && l->count < LINE_PARAMS_MAX; skip_spaces(&rest)) {
		bool last = l->count == LINE_PARAMS_MAX - 1;

		if (*rest.at == ':' || last) {
			bool colon = *rest.at == ':';

			l->params[l->count++] = slice_between(rest.at + colon, rest.at + rest.length);
			return;
		}
		l->params[l->count++] = slice_cut(&rest, ' ');
	}
}

static enum line_fault
parse(struct slice text, struct line *l, size_t tags_max, size_t rest_max)
{
	struct slice rest = text;

	memset(l, 0, sizeof *l);
	if (slice_has(text, '\0') || slice_has(text, '\r'))
		return LINE_BAD;
	l->tags = marked(&rest, '@');
	if ((size_t)(rest.at - text.at) > tags_max || rest.length > rest_max)
		return LINE_TOO_LONG;
	if (!line_utf8(text))
		return LINE_NOT_UTF8;
	skip_spaces(&rest);
	l->source = marked(&rest, ':');
	skip_spaces(&rest);
	if (rest.length == 0)
		return LINE_EMPTY;
	l->command = slice_cut(&rest, ' ');
	if (!is_command(l->command))
		return LINE_BAD;
	take_params(rest, l);
	return LINE_FINE;
}

enum line_fault
line_parse(struct slice text, struct line *l)
{
	return parse(text, l, LINE_TAGS_MAX, LINE_REST_MAX - 2);
}

enum line_fault
line_parse_any(struct slice text, struct line *l)
{
	return parse(text, l, SIZE_MAX, SIZE_MAX);
}

struct slice
line_param(const struct line *l, unsigned i)
{
	return i < l->count ? l->params[i] : (struct slice){ "", 0 };
}

/* Returns the length of the UTF-8 sequence with this first byte, 0 if it is invalid. */
static size_t
sequence(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xC2 && first <= 0xDF)
		return 2;
	if (first >= 0xE0 && first <= 0xEF)
		return 3;
	return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/* Reports whether the second byte may follow the first, which excludes overlong forms and
 * surrogates. */
static bool
second_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xE0: return second >= 0xA0;
	case 0xED: return second <= 0x9F;
	case 0xF0: return second >= 0x90;
	case 0xF4: return second <= 0x8F;
	default: return true;
	}
}

bool
line_utf8(struct slice s)
{
	const unsigned char *at = (const unsigned char *)s.at;

	for (size_t i = 0; i < s.length;) {
		size_t n = sequence(at[i]);

		if (n == 0 || n > s.length - i || (n > 1 && !second_fits(at[i], at[i + 1])))
			return false;
		for (size_t k = 1; k < n; k++)
			if ((at[i + k] & 0xC0) != 0x80)
				return false;
		i += n;
	}
	return true;
}

#include "slice.h"

#include <string.h>
#include <strings.h>

struct slice
slice_of(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

struct slice
slice_between(const char *first, const char *end)
{
	return (struct slice){ first, (size_t)(end - first) };
}

bool
slice_equal(struct slice a, struct slice b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

bool
slice_is(struct slice s, const char *text)
{
	return s.length == strlen(text) && (s.length == 0 || strncasecmp(s.at, text, s.length) == 0);
}

bool
slice_starts(struct slice s, const char *text)
{
	size_t length = strlen(text);

	return s.length >= length && memcmp(s.at, text, length) == 0;
}

bool
slice_has(struct slice s, char byte)
{
	return s.length > 0 && memchr(s.at, byte, s.length) != NULL;
}

struct slice
slice_cut(struct slice *rest, char separator)
{
	const char *end = rest->at + rest->length;
	const char *found = rest->length > 0 ? memchr(rest->at, separator, rest->length) : NULL;
	struct slice front = { rest->at, rest->length };

	if (found == NULL) {
		*rest = (struct slice){ end, 0 };
		return front;
	}
	front = slice_between(rest->at, found);
	*rest = slice_between(found + 1, end);
	return front;
}

bool
slice_copy(struct slice s, char *to, size_t capacity)
{
	if (s.length >= capacity)
		return false;
	if (s.length > 0)
		memcpy(to, s.at, s.length);
	to[s.length] = '\0';
	return true;
}

bool
slice_number(struct slice s, unsigned long long max, unsigned long long *number)
{
	unsigned long long n = 0;

	for (size_t i = 0; i < s.length; i++) {
		unsigned digit = (unsigned)(unsigned char)s.at[i] - '0';

		if (digit > 9 || n > (max - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	*number = n;
	return s.length > 0 && n <= max;
}

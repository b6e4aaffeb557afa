#include "names.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool
name_fold(struct slice s, char *to, size_t capacity)
{
	if (!slice_copy(s, to, capacity))
		return false;
	for (size_t i = 0; i < s.length; i++)
		to[i] = lower(to[i]);
	return true;
}

bool
name_same(struct slice a, struct slice b)
{
	if (a.length != b.length)
		return false;
	for (size_t i = 0; i < a.length; i++)
		if (lower(a.at[i]) != lower(b.at[i]))
			return false;
	return true;
}

bool
name_matches(struct slice pattern, struct slice name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.length) {
		if (p < pattern.length && pattern.at[p] == '*') {
			star = p++;
			from = n;
		} else if (p < pattern.length && (pattern.at[p] == '?' || lower(pattern.at[p]) == lower(name.at[n]))) {
			p++;
			n++;
		} else if (star != SIZE_MAX) { /* the star matches one byte more */
			n = ++from;
			p = star + 1;
		} else {
			return false;
		}
	}
	while (p < pattern.length && pattern.at[p] == '*')
		p++;
	return p == pattern.length;
}

static bool
nick_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("-_[]{}\\|`^", c) != NULL);
}

bool
name_is_nick(struct slice s)
{
	if (s.length == 0 || s.length > NICK_MAX || *s.at == '-' || (*s.at >= '0' && *s.at <= '9'))
		return false;
	for (size_t i = 0; i < s.length; i++)
		if (!nick_byte(s.at[i]))
			return false;
	return true;
}

void
name_clean_user(struct slice s, char to[USER_MAX + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < s.length && n < USER_MAX; i++)
		if (nick_byte(s.at[i]) || s.at[i] == '.' || s.at[i] == '~')
			to[n++] = s.at[i];
	to[n] = '\0';
	if (n == 0)
		memcpy(to, "user", sizeof "user");
}

bool
name_is_room(struct slice s)
{
	char folder[FOLDER_MAX + 1];

	if (s.length < 2 || s.length > ROOM_MAX || *s.at != '#')
		return false;
	for (size_t i = 0; i < s.length; i++) {
		unsigned char c = (unsigned char)s.at[i];

		if (c <= ' ' || c == 0x7F || strchr(",*?", c) != NULL)
			return false;
	}
	return name_folder(s, folder, sizeof folder);
}

static bool
stands(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '#' || c == ',' || (c == '.' && !first);
}

bool
name_folder(struct slice s, char *to, size_t capacity)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (size_t i = 0; i < s.length; i++) {
		char c = lower(s.at[i]);
		size_t needs = stands(c, i == 0) ? 1 : 3;

		if (n + needs > FOLDER_MAX || n + needs >= capacity)
			return false;
		if (needs == 3) {
			to[n++] = '%';
			to[n++] = hex[(unsigned char)c >> 4];
			to[n++] = hex[(unsigned char)c & 15];
		} else {
			to[n++] = c;
		}
	}
	to[n] = '\0';
	return n > 0;
}

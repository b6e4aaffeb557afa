#include "words.h"

#include "clock.h"
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 2 * WORDS_LINE_MAX };

struct lines {
	size_t length;
	bool skipping; /* the rest of a too long line is being skipped */
	bool (*take)(void *context, struct slice line);
	void *context;
	char bytes[BLOCK + 1];
};

/* Passes on all whole lines, and the start of a too long one. */
static bool
offer(struct lines *l)
{
	struct slice rest = { l->bytes, l->length };
	bool taken = false;

	while (!taken && slice_has(rest, '\n')) {
		struct slice line = slice_cut(&rest, '\n');

		taken = !l->skipping && l->take(l->context, line);
		l->skipping = false;
	}
	if (!taken && rest.length > WORDS_LINE_MAX) {
		rest.length = WORDS_LINE_MAX + 1;
		taken = !l->skipping && l->take(l->context, rest);
		l->skipping = true;
		rest.length = 0;
	}
	memmove(l->bytes, rest.at, rest.length);
	l->length = rest.length;
	return taken;
}

bool
lines_find(int data, const char *name, bool (*take)(void *context, struct slice line), void *context)
{
	struct lines l = { .take = take, .context = context };
	int fd = openat(data, name, O_RDONLY | O_CLOEXEC);
	bool taken = false;
	ssize_t n = 1;

	while (fd >= 0 && !taken && n != 0) {
		n = read(fd, l.bytes + l.length, BLOCK - l.length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) { /* the last line may have no LF */
			n = 0;
			l.bytes[l.length] = '\n';
			l.length += l.length > 0;
		}
		l.length += (size_t)n;
		taken = offer(&l);
	}
	if (fd >= 0)
		close(fd);
	return taken;
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct slice
word_cut(struct slice *rest)
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

bool
words_readable(struct slice line)
{
	if (line.length > 0 && line.at[line.length - 1] == '\r')
		line.length--;
	for (size_t i = 0; i < line.length; i++)
		if (((unsigned char)line.at[i] < ' ' && line.at[i] != '\t') || line.at[i] == 0x7F)
			return false;
	return line.length <= WORDS_LINE_MAX && line_utf8(line);
}

static int
digit(char c)
{
	const char *digits = "0123456789ABCDEF", *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

void
word_value(struct slice value, char *to, size_t capacity)
{
	size_t n = 0;

	for (size_t i = 0; i < value.length && n + 1 < capacity; i++) {
		char c = value.at[i];

		if (c == '%' && i + 2 < value.length && digit(value.at[i + 1]) >= 0 && digit(value.at[i + 2]) >= 0) {
			c = (char)(16 * digit(value.at[i + 1]) + digit(value.at[i + 2]));
			i += 2;
		}
		to[n++] = (unsigned char)c < ' ' || c == 0x7F ? ' ' : c;
	}
	/* the cut may be inside a character */
	while (n > 0 && n + 1 == capacity && ((unsigned char)to[n - 1] & 0x80))
		n--;
	to[n] = '\0';
}

bool
word_time(struct slice text, uint64_t *ms)
{
	char whole[CLOCK_TEXT + 1];

	if (text.length != CLOCK_TEXT - 4 || !slice_copy(text, whole, sizeof whole) || whole[CLOCK_TEXT - 5] != 'Z')
		return false;
	memcpy(whole + CLOCK_TEXT - 5, ".000Z", 6);
	return clock_parse(slice_of(whole), ms);
}

#include "stored.h"

#include "buffer.h"
#include "clock.h"
#include "crc32c.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Everything up to the room's id has a fixed position:
 *
 *	@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.123Z;msgid=abcdefgh-123;account=ann :ann C #r :hi
 *	0         10       19   24                      48     55       64
 */
enum { SUM = 10, SUM_DIGITS = 8, TIME = 24, ID = 55, OFFSET = 64, OFFSET_DIGITS_MAX = 19, SHORTEST = OFFSET + 8 };

static void
hex(char *to, uint32_t value)
{
	for (int i = SUM_DIGITS; i-- > 0; value >>= 4)
		to[i] = "0123456789abcdef"[value & 15];
}

/* Counts the bytes of source, tags and text, which redaction may remove. */
static size_t
spare(const struct entry *e)
{
	struct slice rest = e->body;
	struct slice source = slice_cut(&rest, ' ');
	size_t n = e->tags.length + source.length - 1;

	for (size_t i = 0; i + 1 < rest.length; i++)
		if (rest.at[i] == ' ' && rest.at[i + 1] == ':')
			return n + rest.length - i - 2;
	return n;
}

static void
pad(struct buffer *b, const struct entry *e)
{
	static const char tag[] = ";weir/pad=";
	size_t has = spare(e);
	size_t missing = has < STORED_SPARE ? STORED_SPARE - has : 0;

	if (missing == 0)
		return;
	buffer_text(b, tag);
	for (size_t n = sizeof tag - 2; n < missing || n == sizeof tag - 2; n++)
		buffer_text(b, "x");
}

size_t
stored_write(char *to, size_t capacity, const char *id, uint64_t offset, uint64_t ms, const struct entry *e)
{
	struct buffer b = { .at = to, .capacity = capacity < STORED_MAX ? capacity : STORED_MAX };
	char time[CLOCK_TEXT + 1];

	clock_text(ms, time);
	buffer_format(&b, "@weir/sum=00000000;time=%s;msgid=%s-%" PRIu64, time, id, offset);
	if (e->tags.length > 0)
		buffer_text(&b, ";");
	buffer_add(&b, e->tags);
	pad(&b, e);
	buffer_text(&b, " ");
	buffer_add(&b, e->body);
	buffer_text(&b, "\r\n");
	if (b.full)
		return 0;
	hex(to + SUM, crc32c(to + STORED_SUM, b.length - STORED_SUM));
	return b.length;
}

static bool
is_id(const char *at)
{
	for (int i = 0; i < STORED_ID; i++)
		if (!((at[i] >= 'a' && at[i] <= 'z') || (at[i] >= '2' && at[i] <= '7')))
			return false;
	return true;
}

/* Reports whether the line's msgid has this offset, in its only valid spelling. */
static bool
says_offset(struct slice line, uint64_t offset)
{
	char digits[OFFSET_DIGITS_MAX + 2];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, offset);

	return n <= OFFSET_DIGITS_MAX && line.length > OFFSET + (size_t)n &&
	       memcmp(line.at + OFFSET, digits, (size_t)n) == 0 &&
	       (line.at[OFFSET + n] == ' ' || (line.at[OFFSET + n] == ';' && line.at[OFFSET + n + 1] != ' '));
}

static bool
well_formed(struct slice line)
{
	struct slice text = { line.at, line.length - 2 };
	uint64_t ms;

	if (slice_has(text, '\0') || slice_has(text, '\r') || slice_has(text, '\n'))
		return false;
	slice_cut(&text, ' ');
	return text.length > 0 && *text.at == ':' && clock_parse((struct slice){ line.at + TIME, CLOCK_TEXT }, &ms);
}

bool
stored_whole(struct slice line, uint64_t offset)
{
	char sum[SUM_DIGITS];

	if (line.length < SHORTEST || line.length > STORED_MAX || memcmp(line.at, "@weir/sum=", SUM) != 0 ||
	    memcmp(line.at + STORED_SUM - 1, ";time=", 6) != 0 || memcmp(line.at + TIME + CLOCK_TEXT, ";msgid=", 7) != 0 ||
	    line.at[OFFSET - 1] != '-' || memcmp(line.at + line.length - 2, "\r\n", 2) != 0)
		return false;
	hex(sum, crc32c(line.at + STORED_SUM, line.length - STORED_SUM));
	return memcmp(sum, line.at + SUM, SUM_DIGITS) == 0 && is_id(line.at + ID) && says_offset(line, offset) && well_formed(line);
}

bool
stored_formed(struct slice line)
{
	struct slice plain = stored_plain(line);

	return line.length >= SHORTEST && slice_starts(line, "@weir/sum=") && plain.length > 3 && *plain.at == ':' &&
	       plain.at > line.at + OFFSET;
}

struct slice
stored_tags(struct slice line)
{
	struct slice rest = { line.at + STORED_SUM, line.length - STORED_SUM };

	return slice_cut(&rest, ' ');
}

struct slice
stored_plain(struct slice line)
{
	slice_cut(&line, ' ');
	return line;
}

struct slice
stored_id(struct slice line)
{
	return (struct slice){ line.at + ID, STORED_ID };
}

bool
stored_tag(struct slice line, const char *name, struct slice *value)
{
	struct slice rest = stored_tags(line);

	while (rest.length > 0) {
		struct slice tag = slice_cut(&rest, ';');
		struct slice key = slice_cut(&tag, '=');

		if (slice_equal(key, slice_of(name))) {
			*value = tag;
			return true;
		}
	}
	return false;
}

bool
stored_time(struct slice line, uint64_t *ms)
{
	return clock_parse((struct slice){ line.at + TIME, CLOCK_TEXT }, ms);
}

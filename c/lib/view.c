#include "view.h"

#include "clock.h"

#include <stdio.h>
#include <string.h>

enum { TAG_CAPS = CAP_MESSAGE_TAGS | CAP_SERVER_TIME | CAP_ACCOUNT_TAG, DAY_MS = 86400000 };

/* Reports whether a client with these capabilities is sent the tag. */
static bool
shows_tag(struct slice tag, unsigned caps)
{
	struct slice name = slice_cut(&tag, '=');

	if (slice_equal(name, slice_of("time")))
		return caps & CAP_SERVER_TIME;
	if (slice_equal(name, slice_of("account")))
		return caps & CAP_ACCOUNT_TAG;
	return (caps & CAP_MESSAGE_TAGS) && !slice_starts(name, "weir/");
}

static char *
add(char *to, struct slice s)
{
	memmove(to, s.at, s.length);
	return to + s.length;
}

/* Adds a tag to the line that starts at start, with '@' or ';' before it. */
static char *
add_tag(char *start, char *to, struct slice tag)
{
	*to = to == start ? '@' : ';';
	return add(to + 1, tag);
}

/* Reports whether the line has tags alone, such as a reaction: clients without message-tags are not
 * sent it. */
static bool
is_tagmsg(struct slice plain)
{
	slice_cut(&plain, ' ');
	return slice_starts(plain, "TAGMSG ");
}

/* Returns the length of ":source COMMAND target :", after which the text of a message starts; also
 * after the "\1ACTION " of a CTCP ACTION. 0 if the line is no message or another CTCP message. */
static size_t
text_start(struct slice plain)
{
	struct slice rest = plain, command;

	slice_cut(&rest, ' ');
	command = slice_cut(&rest, ' ');
	slice_cut(&rest, ' ');
	if (!slice_starts(rest, ":") || !(slice_equal(command, slice_of("PRIVMSG")) || slice_equal(command, slice_of("NOTICE"))))
		return 0;
	rest = slice_between(rest.at + 1, plain.at + plain.length);
	if (slice_starts(rest, "\1ACTION "))
		return (size_t)(rest.at - plain.at) + strlen("\1ACTION ");
	return slice_starts(rest, "\1") ? 0 : (size_t)(rest.at - plain.at);
}

size_t
view_write(char *to, struct slice tags, struct slice plain, unsigned caps, const char *extra, const char *stamp)
{
	size_t head = stamp != NULL ? text_start(plain) : 0;
	char *at = to;

	if (is_tagmsg(plain) && !(caps & CAP_MESSAGE_TAGS))
		return 0;
	if (extra != NULL)
		at = add_tag(to, at, slice_of(extra));
	while (tags.length > 0 && (caps & TAG_CAPS)) {
		struct slice tag = slice_cut(&tags, ';');

		if (shows_tag(tag, caps))
			at = add_tag(to, at, tag);
	}
	if (at != to)
		*at++ = ' ';
	if (head > 0) {
		at = add(at, (struct slice){ plain.at, head });
		at = add(at, slice_of(stamp));
	}
	return (size_t)(add(at, (struct slice){ plain.at + head, plain.length - head }) - to);
}

void
view_stamp(char to[VIEW_STAMP_MAX + 1], uint64_t ms, uint64_t now_ms)
{
	char text[CLOCK_TEXT + 1];

	clock_text(ms, text);
	if (ms / DAY_MS == now_ms / DAY_MS)
		snprintf(to, VIEW_STAMP_MAX + 1, "[%.8s] ", text + 11);
	else
		snprintf(to, VIEW_STAMP_MAX + 1, "[%.10s %.8s] ", text, text + 11);
}

#include "view.h"

#include <string.h>

enum { TAG_CAPS = CAP_MESSAGE_TAGS | CAP_SERVER_TIME | CAP_ACCOUNT_TAG };

static bool
shows(struct slice tag, unsigned caps)
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

/* Adds a tag after begin, with '@' or ';' before it. */
static char *
add_tag(char *begin, char *to, struct slice tag)
{
	*to = to == begin ? '@' : ';';
	return add(to + 1, tag);
}

/* A reaction or a sign of typing means nothing to who knows no tags. */
static bool
for_tags_only(struct slice plain)
{
	slice_cut(&plain, ' ');
	return slice_starts(plain, "TAGMSG ");
}

size_t
view_write(char *to, struct slice tags, struct slice plain, unsigned caps, const char *extra)
{
	char *at = to;

	if (for_tags_only(plain) && !(caps & CAP_MESSAGE_TAGS))
		return 0;
	if (extra != NULL)
		at = add_tag(to, at, slice_of(extra));
	while (tags.length > 0 && (caps & TAG_CAPS)) {
		struct slice tag = slice_cut(&tags, ';');

		if (shows(tag, caps))
			at = add_tag(to, at, tag);
	}
	if (at != to)
		*at++ = ' ';
	return (size_t)(add(at, plain) - to);
}

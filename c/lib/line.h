/*
 * A line of IRC as it comes over the wire, taken apart (modern.ircdocs.horse, "Message Format").
 *
 * Pure: everything found lies in the bytes given.
 */
#ifndef LINE_H
#define LINE_H

#include "slice.h"

enum {
	LINE_REST_MAX = 512,   /* bytes after the tags, CR and LF included */
	LINE_TAGS_MAX = 4096,  /* bytes of tags that a client may send, '@' and the space included */
	LINE_PARAMS_MAX = 15,
};

struct line {
	struct slice tags; /* without '@' and the space; empty when there are none */
	struct slice source; /* without ':' */
	struct slice command;
	struct slice params[LINE_PARAMS_MAX];
	unsigned count; /* of params */
};

enum line_fault {
	LINE_FINE,
	LINE_EMPTY,    /* nothing but spaces: to be ignored */
	LINE_TOO_LONG,
	LINE_BAD,      /* NUL or CR in it, a command of other than letters or digits, … */
	LINE_NOT_UTF8,
};

/* Takes apart text, a line without its line end, as a client may send it. */
enum line_fault line_parse(struct slice text, struct line *l);

/* The same for one as a server sends it, which may be longer: a client's line with its source and
 * tags in front. */
enum line_fault line_parse_any(struct slice text, struct line *l);

/* The parameter i, empty when there is none. */
struct slice line_param(const struct line *l, unsigned i);

/* Whether s is well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong). */
bool line_utf8(struct slice s);

#endif

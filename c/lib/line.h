/*
 * Parses lines of IRC (modern.ircdocs.horse, "Message Format"; RFC 2812, section 2.3.1).
 *
 * The parsed parts point into the given bytes.
 */
#ifndef LINE_H
#define LINE_H

#include "slice.h"

enum {
	LINE_REST_MAX = 512,   /* bytes after the tags, CR and LF included */
	LINE_TAGS_MAX = 4096,  /* bytes of a client's tags, '@' and the space included */
	LINE_PARAMS_MAX = 15,
};

struct line {
	struct slice tags; /* without '@' and the space; empty if there are none */
	struct slice source; /* without ':' */
	struct slice command;
	struct slice params[LINE_PARAMS_MAX];
	unsigned count; /* number of params */
};

enum line_fault {
	LINE_FINE,
	LINE_EMPTY,    /* only spaces: ignored */
	LINE_TOO_LONG,
	LINE_BAD, /* contains NUL or CR, or the command has other characters than letters and digits */
	LINE_NOT_UTF8,
};

/* Parses a client's line without its line end. */
enum line_fault line_parse(struct slice text, struct line *l);

/* Parses a server's line, which may be longer: a client's line with source and tags. */
enum line_fault line_parse_any(struct slice text, struct line *l);

/* Returns the parameter i, empty if there are fewer. */
struct slice line_param(const struct line *l, unsigned i);

/* Reports whether s is valid UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool line_utf8(struct slice s);

#endif

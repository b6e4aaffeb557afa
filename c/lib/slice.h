/* Text that lies in somebody else's bytes: a pointer and a length, no NUL at the end. */
#ifndef SLICE_H
#define SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
	const char *at;
	size_t length;
};

/* The text of a C string; dies with it. */
struct slice slice_of(const char *text);

/* From the byte first to the byte end, exclusive. */
struct slice slice_between(const char *first, const char *end);

bool slice_equal(struct slice a, struct slice b);

/* Equal but for the case of ASCII letters. */
bool slice_is(struct slice s, const char *text);

bool slice_starts(struct slice s, const char *text);

/* Whether s holds the byte anywhere. */
bool slice_has(struct slice s, char byte);

/* Takes what stands before the first separator off the front of rest, and the separator; all of it
 * when there is none. */
struct slice slice_cut(struct slice *rest, char separator);

/* Copies s and a NUL to to; false, and nothing copied, when it does not fit in room bytes. */
bool slice_copy(struct slice s, char *to, size_t room);

/* A decimal number of digits alone, at most max; false when it is none. */
bool slice_number(struct slice s, unsigned long long max, unsigned long long *number);

#endif

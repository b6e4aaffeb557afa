/* Text inside other memory: a pointer and a length, without a NUL. */
#ifndef SLICE_H
#define SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
	const char *at;
	size_t length;
};

/* Returns the text of a C string, which must outlive it. */
struct slice slice_of(const char *text);

/* Returns the bytes from first up to end, exclusive. */
struct slice slice_between(const char *first, const char *end);

bool slice_equal(struct slice a, struct slice b);

/* Reports whether both are equal, ignoring the case of ASCII letters. */
bool slice_is(struct slice s, const char *text);

bool slice_starts(struct slice s, const char *text);

/* Reports whether s contains the byte. */
bool slice_has(struct slice s, char byte);

/* Takes the text before the first separator off the front of rest, with the separator; all of it if
 * there is none. */
struct slice slice_cut(struct slice *rest, char separator);

/* Copies s and a NUL to to. Returns false, and copies nothing, if they need more than capacity
 * bytes. */
bool slice_copy(struct slice s, char *to, size_t capacity);

/* Parses a decimal number of digits only, at most max. */
bool slice_number(struct slice s, unsigned long long max, unsigned long long *number);

#endif

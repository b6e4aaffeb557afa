/* Bytes that are put together in memory of a fixed size. What does not fit is left out whole, and
 * said. */
#ifndef BUFFER_H
#define BUFFER_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *at;
	size_t length, room; /* bytes in it; bytes it can hold */
	bool full;           /* something did not fit */
};

/* An empty one in an array. */
#define BUFFER_IN(array) ((struct buffer){ .at = (array), .room = sizeof(array) })

void buffer_add(struct buffer *b, struct slice s);
void buffer_text(struct buffer *b, const char *text);

/* As printf does, but for its NUL, which takes no room in the end (it needs one byte of room
 * meanwhile). */
void buffer_format(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct slice buffer_slice(const struct buffer *b);

#endif

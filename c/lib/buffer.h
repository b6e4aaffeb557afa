/* A buffer of fixed size. A part that does not fit is left out as a whole and sets full. */
#ifndef BUFFER_H
#define BUFFER_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *at;
	size_t length, capacity; /* bytes used, of those that at has */
	bool full;           /* a part did not fit */
};

/* An empty buffer in an array. */
#define BUFFER_IN(array) ((struct buffer){ .at = (array), .capacity = sizeof(array) })

void buffer_add(struct buffer *b, struct slice s);
void buffer_text(struct buffer *b, const char *text);

/* Formats like printf, without a NUL. It needs one byte more for the NUL meanwhile. */
void buffer_format(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct slice buffer_slice(const struct buffer *b);

#endif

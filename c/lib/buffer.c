#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
buffer_add(struct buffer *b, struct slice s)
{
	if (s.length > b->capacity - b->length) {
		b->full = true;
		return;
	}
	if (s.length > 0)
		memcpy(b->at + b->length, s.at, s.length);
	b->length += s.length;
}

void
buffer_text(struct buffer *b, const char *text)
{
	buffer_add(b, slice_of(text));
}

void
buffer_format(struct buffer *b, const char *format, ...)
{
	size_t left = b->capacity - b->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(b->at + b->length, left, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= left)
		b->full = true;
	else
		b->length += (size_t)n;
}

struct slice
buffer_slice(const struct buffer *b)
{
	return (struct slice){ b->at, b->length };
}

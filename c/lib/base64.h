/* Base64 with padding (RFC 4648, section 4). */
#ifndef BASE64_H
#define BASE64_H

#include "slice.h"

#include <stddef.h>

/* Length of the base64 text of n bytes, without a NUL. */
#define BASE64_LENGTH(n) (((n) + 2) / 3 * 4)

/* Writes BASE64_LENGTH(length) characters and a NUL to to. */
void base64_encode(const void *data, size_t length, char *to);

/* Returns the bytes written to to, -1 if text is malformed or needs more than capacity bytes. */
long base64_decode(struct slice text, void *to, size_t capacity);

#endif

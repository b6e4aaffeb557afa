#include "base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_encode(const void *data, size_t length, char *to)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < length; i += 3) {
		size_t n = length - i < 3 ? length - i : 3;
		uint32_t v = (uint32_t)at[i] << 16 | (n > 1 ? (uint32_t)at[i + 1] << 8 : 0) | (n > 2 ? at[i + 2] : 0u);

		*to++ = alphabet[v >> 18];
		*to++ = alphabet[v >> 12 & 63];
		*to++ = n > 1 ? alphabet[v >> 6 & 63] : '=';
		*to++ = n > 2 ? alphabet[v & 63] : '=';
	}
	*to = '\0';
}

static int
value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Decodes the n characters of a group of four to n - 1 bytes. Returns false for invalid characters
 * or leftover bits. */
static bool
decode_group(const char *at, size_t n, unsigned char *bytes)
{
	uint32_t v = 0;

	for (size_t k = 0; k < 4; k++) {
		int bits = k < n ? value(at[k]) : 0;

		if (bits < 0)
			return false;
		v = v << 6 | (uint32_t)bits;
	}
	for (size_t k = 0; k < 3; k++)
		bytes[k] = (unsigned char)(v >> (16 - 8 * k));
	return (n > 2 || bytes[1] == 0) && (n > 3 || bytes[2] == 0);
}

long
base64_decode(struct slice text, void *to, size_t capacity)
{
	unsigned char *out = to;
	size_t written = 0;

	if (text.length % 4 != 0)
		return -1;
	for (size_t i = 0; i < text.length; i += 4) {
		unsigned char bytes[3];
		size_t n = 4;

		if (i + 4 == text.length)
			while (n > 2 && text.at[i + n - 1] == '=')
				n--;
		if (!decode_group(text.at + i, n, bytes) || n - 1 > capacity - written)
			return -1;
		for (size_t k = 0; k < n - 1; k++)
			out[written++] = bytes[k];
	}
	return (long)written;
}

#include "crc32c.h"

#include <stdbool.h>

/* Filled by the first call. Processes have no threads, so no lock is needed. */
static uint32_t table[256];
static bool made;

static void
make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = (c >> 1) ^ (c & 1 ? 0x82F63B78u : 0);
		table[i] = c;
	}
	made = true;
}

uint32_t
crc32c(const void *data, size_t length)
{
	const unsigned char *at = data;
	uint32_t c = 0xFFFFFFFFu;

	if (!made)
		make_table();
	for (size_t i = 0; i < length; i++)
		c = (c >> 8) ^ table[(c ^ at[i]) & 0xFF];
	return ~c;
}

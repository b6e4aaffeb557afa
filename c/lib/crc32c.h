/* CRC-32C (Castagnoli, RFC 3720 appendix B.4): the checksum of a stored line. */
#ifndef CRC32C_H
#define CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t length);

#endif

/*
 * Follows the log of one room, in a process of its own: reads what is committed, without a lock, from segment to
 * segment. Offsets are those of the room's whole history.
 */
#ifndef READER_H
#define READER_H

#include "log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	int dir, segment;
	uint64_t base;     /* of the open segment */
	uint64_t limit;    /* the base of the next one, UINT64_MAX while there is none */
	uint64_t position; /* of the next byte to read */
	const struct log_ends *ends;
};

/* Opens the log in the folder path below the folder data, which is there, at position: a line's
 * first byte, or 0. */
bool reader_open(struct reader *r, int data, const char *path, uint64_t position);
void reader_close(struct reader *r);

uint64_t reader_committed(const struct reader *r);

/*
 * Reads whole lines of [position, until) to buffer, which has room for STORED_MAX bytes at least; first is the
 * offset of the first. Bytes read; 0 when there are none; -1, and errno, when the log can't be read. Offsets that
 * no line has, because a tail was cut, are passed over.
 */
long reader_read(struct reader *r, char *buffer, size_t room, uint64_t until, uint64_t *first);

/* Goes to where the newest count lines before an offset begin, or the oldest line that there is. */
bool reader_back(struct reader *r, uint64_t before, unsigned long count);

#endif

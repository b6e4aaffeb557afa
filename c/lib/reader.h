/*
 * Reads the log of one room up to COMMITTED, without a lock, from segment to segment. Each process
 * has its own reader. Offsets are those of the room's whole history.
 */
#ifndef READER_H
#define READER_H

#include "log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	int dir, segment;
	uint64_t base;     /* base of the open segment */
	uint64_t limit;    /* base of the next segment, UINT64_MAX if there is none */
	uint64_t position; /* offset of the next byte to read */
	const struct log_ends *ends;
};

/* Opens the existing log in the folder path below data, at position: the first byte of a line, or
 * 0. */
bool reader_open(struct reader *r, int data, const char *path, uint64_t position);
void reader_close(struct reader *r);

uint64_t reader_committed(const struct reader *r);

/*
 * Reads whole lines of [position, until) to buffer, which has room for at least STORED_MAX bytes.
 * first is the offset of the first line. Returns the bytes read, 0 if there are none, -1 and errno
 * after an error. Gaps between segments are skipped.
 */
long reader_read(struct reader *r, char *buffer, size_t capacity, uint64_t until, uint64_t *first);

/* Moves to the start of the newest count lines before an offset, or to the oldest line. */
bool reader_back(struct reader *r, uint64_t before, unsigned long count);

#endif

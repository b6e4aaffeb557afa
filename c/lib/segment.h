/* The files that a log is cut into, named by the logical offset of their first byte. */
#ifndef SEGMENT_H
#define SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SEGMENT_NAME = 24,          /* bytes of "00000000000000000000.log" */
	SEGMENT_BYTES = 8 << 20,    /* one that has so many is not written to any more */
};

enum segment_where {
	SEGMENT_AT,    /* the one that holds the offset: the last whose base is not beyond */
	SEGMENT_AFTER, /* the first whose base is beyond the offset */
};

/* Finds a segment in the folder dir and gives its base; false when there is none. */
bool segment_find(int dir, uint64_t offset, enum segment_where where, uint64_t *base);

/* Opens the segment that begins at base with flags as of open; -1 as open. */
int segment_open(int dir, uint64_t base, int flags);

/* Makes a segment, and has its name on the disk; -1 and errno when that fails. */
int segment_make(int dir, uint64_t base);

/* Opens one to change it that may be finished; it is finished again by segment_finish. */
int segment_reopen(int dir, uint64_t base);

/* From now on nobody writes to it: there is a later one. */
bool segment_finish(int fd);

bool segment_remove(int dir, uint64_t base);

/* Bytes in an open segment, and whether it may be written to: it still has its name, and is not
 * finished. */
bool segment_size(int fd, uint64_t *size);
bool segment_in_use(int fd, uint64_t *size);

#endif

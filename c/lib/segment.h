/* The segments of a log: files named by the logical offset of their first byte. */
#ifndef SEGMENT_H
#define SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SEGMENT_NAME = 24,          /* bytes of "00000000000000000000.log" */
	SEGMENT_BYTES = 8 << 20,    /* size from which a segment is no longer written to */
};

enum segment_where {
	SEGMENT_AT,    /* the segment with the offset: the last one whose base is not behind it */
	SEGMENT_AFTER, /* the first segment whose base is behind the offset */
};

/* Finds a segment in the folder dir and gets its base. Returns false if there is none. */
bool segment_find(int dir, uint64_t offset, enum segment_where where, uint64_t *base);

/* Opens the segment with this base, with flags and result as of open. */
int segment_open(int dir, uint64_t base, int flags);

/* Creates a segment with a durable name. Returns -1 and sets errno after an error. */
int segment_make(int dir, uint64_t base);

/* Opens a segment, finished or not, for changes. segment_finish finishes it again. */
int segment_reopen(int dir, uint64_t base);

/* Marks a segment as finished: there is a later one, and no process writes to this one. */
bool segment_finish(int fd);

bool segment_remove(int dir, uint64_t base);

/* segment_size gets the size of an open segment. segment_in_use also reports whether it may be
 * written to: it still has its name and is not finished. */
bool segment_size(int fd, uint64_t *size);
bool segment_in_use(int fd, uint64_t *size);

#endif

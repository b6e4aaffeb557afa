/* The segments of a log: files named by the logical offset of their first byte. */
#ifndef SEGMENT_H
#define SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SEGMENT_NAME = 24,          /* bytes of "00000000000000000000.log" */
	SEGMENT_BYTES = 8 << 20,    /* size from which a segment is no longer written to */
};

/* Which segment segment_find finds for an offset. */
enum segment_where {
	/* the last one whose base is the offset or less; the last of all for INT64_MAX */
	SEGMENT_AT_OR_BEFORE,
	SEGMENT_AFTER,        /* the first one whose base is greater than the offset */
};

/* Finds a segment in the folder dir and gets its base. Returns false if there is none. */
bool segment_find(int dir, uint64_t offset, enum segment_where where, uint64_t *base);

/* Opens the segment with this base, with flags and result as of open. */
int segment_open(int dir, uint64_t base, int flags);

/* Creates a segment with a durable name. Returns -1 and sets errno after an error. */
int segment_make(int dir, uint64_t base);

/* Opens a segment, finished or not, to cut or rewrite it. Its mode keeps writers from appending
 * until the caller changes it, as segment_finish does. */
int segment_reopen(int dir, uint64_t base);

/* Marks a segment as finished: there is a later one, and no process writes to this one. */
bool segment_finish(int fd);

/* Marks a segment as the one that processes write to. */
bool segment_use(int fd);

bool segment_remove(int dir, uint64_t base);

/* segment_size gets the size of an open segment. segment_in_use also reports whether it may be
 * written to: it still has its name and is not finished. */
bool segment_size(int fd, uint64_t *size);
bool segment_in_use(int fd, uint64_t *size);

/* Gets the size of an open segment without the zeros at its end: its padding. segment_cut_padding
 * also cuts them, without a sync. */
bool segment_data_size(int fd, uint64_t *size);
bool segment_cut_padding(int fd, uint64_t *size);

#endif

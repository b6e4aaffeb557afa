/* How SEND follows the log of one room: its position, and which lines are the client's own. Only
 * SEND uses it. */
#ifndef FEED_H
#define FEED_H

#include "reader.h"

#include <stdbool.h>
#include <stdint.h>

enum { OWN_MAX = 64 };

struct feed {
	bool used;
	unsigned room;         /* number in the table */
	struct reader reader;
	/* ascending; ranges before the position are dropped */
	struct { uint64_t first, end; } own[OWN_MAX];
	unsigned owns;
	uint64_t seen;         /* COMMITTED at SEND's last look */
	bool gap;              /* not all that precedes it could be read: its read marker stays */
	uint64_t noted;        /* position when SEND last noted all positions; see send.c */
};

/* Records that the lines [first, end) are the client's own. Returns false while there is no
 * room. */
bool feed_own(struct feed *f, uint64_t first, uint64_t end);

/* Reports whether the line at offset is the client's own. Offsets must ascend from call to call. */
bool feed_is_own(struct feed *f, uint64_t offset);

#endif

/* How SEND follows the log of one room: where it is, what of it is the client's own. Only SEND's
 * process uses it. */
#ifndef FEED_H
#define FEED_H

#include "reader.h"

#include <stdbool.h>
#include <stdint.h>

enum { OWN_MAX = 64 };

struct feed {
	bool used;
	unsigned room;         /* its number in the table */
	struct reader reader;
	/* in order; those before the position are forgotten */
	struct { uint64_t first, end; } own[OWN_MAX];
	unsigned owns;
	uint64_t seen;         /* committed, when SEND looked last */
};

/* Notes that the lines [first, end) are the client's own; false when there is no room to, until
 * some were passed. */
bool feed_own(struct feed *f, uint64_t first, uint64_t end);

/* Whether the line at offset is the client's own. To be asked in the order of offsets. */
bool feed_is_own(struct feed *f, uint64_t offset);

#endif

#include "feed.h"

#include <string.h>

bool
feed_own(struct feed *f, uint64_t first, uint64_t end)
{
	if (f->owns > 0 && f->own[f->owns - 1].end == first) {
		f->own[f->owns - 1].end = end;
		return true;
	}
	if (f->owns == OWN_MAX)
		return false;
	f->own[f->owns].first = first;
	f->own[f->owns].end = end;
	f->owns++;
	return true;
}

bool
feed_is_own(struct feed *f, uint64_t offset)
{
	unsigned passed = 0;

	while (passed < f->owns && f->own[passed].end <= offset)
		passed++;
	if (passed > 0) {
		f->owns -= passed;
		memmove(f->own, f->own + passed, f->owns * sizeof *f->own);
	}
	return f->owns > 0 && f->own[0].first <= offset;
}

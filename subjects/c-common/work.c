#include "work.h"

#include <time.h>

uint64_t
work_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
burn(uint64_t ns)
{
	uint64_t end = work_now() + ns;

	while (work_now() < end)
		continue;
}

uint64_t
work_handle(const struct options *o, uint32_t *part, size_t n)
{
	uint64_t bytes = *part + (uint64_t)n;
	uint64_t messages = bytes / o->size;

	*part = (uint32_t)(bytes % o->size);
	if (messages > 0 && o->work_us > 0)
		burn(messages * o->work_us * 1000);
	return messages * o->wait_ms * 1000000;
}

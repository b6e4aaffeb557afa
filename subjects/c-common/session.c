#include "session.h"

#include "drain.h"
#include "net.h"
#include "work.h"

#include <errno.h>
#include <unistd.h>

static void
serve(int fd, const struct options *o)
{
	char data[READ_MAX];
	uint32_t part = 0;

	for (;;) {
		ssize_t n = read(fd, data, sizeof data);
		uint64_t wait_ns;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* end, reset, or drained (EAGAIN) */
		wait_ns = work_handle(o, &part, (size_t)n);
		if (wait_ns > 0)
			drain_sleep(wait_ns);
		if (!o->echo)
			net_print(data, (size_t)n);
		else if (!net_write_all(fd, data, (size_t)n))
			return; /* the peer is gone */
	}
}

void
session_run(int fd, const struct options *o)
{
	net_nodelay(fd);
	drain_reading(fd);
	serve(fd, o);
	drain_reading(-1);
	close(fd);
}

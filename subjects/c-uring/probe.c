/* Exits with 0 if c-uring can run here; otherwise prints the reason in one line. */
#include "ring.h"

#include <stdio.h>
#include <string.h>

int
main(void)
{
	static struct buffers buffers;
	struct io_uring ring;
	int error = ring_open(&ring);

	if (error == 0)
		error = ring_share(&ring, &buffers);
	if (error == 0)
		return 0;
	fprintf(stderr, "needs io_uring of Linux 6.1 or later, which this kernel refuses: %s\n", strerror(-error));
	return 1;
}

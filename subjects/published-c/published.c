/*
 * The C program of the published comparison, rebuilt from its description: a process per
 * connection, reads of up to 4,096 bytes, and printf to a fully buffered standard output (the
 * default if it is not a terminal). So most messages cost one read, and a write happens when the
 * buffer is full.
 *
 * As published it has no drain: on SIGTERM its processes end at once, and buffered output is lost.
 * (The published program left its children behind; this one does not, because it runs again and
 * again.) A NUL ends the printed part of a read. --size, --work-us and --wait-ms are accepted and
 * ignored.
 */
#include "children.h"
#include "die.h"
#include "drain.h"
#include "net.h"
#include "options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

_Noreturn static void
serve(int fd)
{
	char data[READ_MAX];
	ssize_t n;

	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	while ((n = read(fd, data, sizeof data)) > 0)
		printf("%.*s", (int)n, data);
	exit(0);
}

int
main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	int listener;

	if (o.echo)
		die(EXIT_USAGE, "the published program has no --workload echo, only sink");
	children_init();
	drain_on(SIGTERM);
	drain_on(SIGINT);
	listener = net_listen(&o);
	drain_accepting(listener);
	while (!drain_asked()) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			continue;
		if (children_fork(-1) == 0) {
			close(listener);
			serve(fd);
		}
		close(fd);
	}
	children_stop();
	return 0;
}

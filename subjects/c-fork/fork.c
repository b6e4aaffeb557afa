/*
 * A process per connection: the parent accepts, each child blocks on one connection and exits with
 * it.
 *
 * Limitations: the system's limit of processes limits the connections; at that limit the parent
 * stops accepting until some exit.
 */
#include "children.h"
#include "drain.h"
#include "net.h"
#include "options.h"
#include "session.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static void
pause_accepting(void)
{
	drain_sleep(ACCEPT_PAUSE_MS * 1000000ull);
}

/* Retries while no process can be started; gives the connection up only when draining. */
static pid_t
fork_for(int fd)
{
	pid_t pid;

	while ((pid = children_fork(fd)) < 0 && !drain_asked())
		pause_accepting();
	return pid;
}

static void
accept_all(int listener, const struct options *o)
{
	while (!drain_asked()) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0) {
			if (!drain_asked() && !net_accept_again(errno))
				pause_accepting();
			continue;
		}
		if (fork_for(fd) == 0) {
			close(listener);
			session_run(fd, o);
			_exit(0);
		}
		close(fd);
	}
}

int
main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	int listener;

	children_init();
	drain_on(SIGTERM);
	drain_on(SIGINT);
	listener = net_listen(&o);
	drain_accepting(listener);
	accept_all(listener, &o);
	children_stop();
	return 0;
}

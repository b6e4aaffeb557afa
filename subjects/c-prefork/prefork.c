/*
 * Pre-forked processes: every worker accepts from the shared listener, blocks on one connection
 * until it ends, and accepts the next. The parent only keeps enough workers idle.
 *
 * A worker writes BUSY to a pipe when it has a connection and IDLE when that has ended. The parent,
 * the only reader, counts. A worker that died while busy counts as busy for ever: one spare worker
 * too many.
 *
 * Limitations: the pool grows to WORKERS_MAX and never shrinks. Beyond that, connections wait in
 * the kernel's accept queue until others end.
 */
#include "children.h"
#include "die.h"
#include "drain.h"
#include "net.h"
#include "options.h"
#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SPARE_WORKERS = 64, /* idle ones to have at any time */
	WORKERS_MAX = 16384,
};

static const char BUSY = '+', IDLE = '-';

static void
work(int listener, int notes, const struct options *o)
{
	drain_accepting(listener);
	while (!drain_asked()) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0) {
			net_write_all(notes, &BUSY, 1);
			session_run(fd, o);
			net_write_all(notes, &IDLE, 1);
		} else if (!drain_asked() && !net_accept_again(errno)) {
			drain_sleep(ACCEPT_PAUSE_MS * 1000000ull);
		}
	}
}

/* If no process can be started, or workers die at once, the next note tries again. */
static void
top_up(size_t busy, int listener, int notes[2], const struct options *o)
{
	size_t wanted = busy + SPARE_WORKERS < WORKERS_MAX ? busy + SPARE_WORKERS : WORKERS_MAX;

	for (size_t n = children_count(); n < wanted && !drain_asked(); n++) {
		pid_t pid = children_fork(-1);

		if (pid < 0)
			return;
		if (pid == 0) {
			close(notes[0]);
			work(listener, notes[1], o);
			_exit(0);
		}
	}
}

static size_t
count_busy(size_t busy, const char *note, ssize_t n)
{
	for (ssize_t i = 0; i < n; i++)
		busy = note[i] == BUSY ? busy + 1 : busy - 1;
	return busy;
}

int
main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	char note[READ_MAX];
	int notes[2];
	int listener;
	size_t busy = 0;

	children_init();
	drain_on(SIGTERM);
	drain_on(SIGINT);
	if (pipe(notes) != 0)
		die(EXIT_TROUBLE, "cannot make a pipe: %s", strerror(errno));
	listener = net_listen(&o);
	drain_reading(notes[0]);
	while (!drain_asked()) {
		top_up(busy, listener, notes, &o);
		busy = count_busy(busy, note, read(notes[0], note, sizeof note));
	}
	close(listener);
	children_stop();
	return 0;
}

/*
 * chatd: the chat server with two processes for each client. This file prepares the server: the
 * data directory, the socket, the privileges. Then parent.c runs it.
 */
#include "client.h"
#include "daemon.h"
#include "log.h"
#include "net.h"
#include "options.h"
#include "parent.h"
#include "report.h"
#include "sandbox.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 50, LOCK_PAUSE_MS = 20 };

static int
open_folder(const struct options *o)
{
	int fd;

	if (mkdir(o->data, 0700) == 0) {
		daemon_give(o->data, o->user);
		if (!folder_sync_parent(AT_FDCWD, o->data))
			fatal("cannot sync the parent directory of %s: %s", o->data, strerror(errno));
	} else if (errno != EEXIST) {
		fatal("cannot create %s: %s", o->data, strerror(errno));
	} else {
		/* A server that made the folder may have been killed before the sync. A failure is
		 * ignored: the parent of an administrator's folder may not be readable to us. */
		(void)folder_sync_parent(AT_FDCWD, o->data);
	}
	fd = open(o->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fatal("cannot open %s: %s", o->data, strerror(errno));
	return fd;
}

static void
make_folders(const struct options *o, int data)
{
	static const char *const names[] = { "rooms", "direct" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!folder_make(data, names[i]))
			fatal("cannot create %s/%s: %s", o->data, names[i], strerror(errno));
}

/*
 * Takes the lock of the data directory. Children inherit the descriptor, and the lock with it. So
 * the lock of a killed server is free only when its last process has ended, for which this waits a
 * moment.
 */
static void
lock_folder(const struct options *o, int data)
{
	int fd = openat(data, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	int tries = 0;

	if (fd < 0)
		fatal("cannot open %s/lock: %s", o->data, strerror(errno));
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK || ++tries == LOCK_TRIES)
			fatal("%s is in use by another server: stop that, or choose another --data", o->data);
		nanosleep(&pause, NULL);
	}
	if (ftruncate(fd, 0) != 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0)
		fatal("cannot write %s/lock: %s", o->data, strerror(errno));
}

static void
raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		/* best effort: with fewer descriptors a client can be in fewer rooms */
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

int
main(int argc, char **argv)
{
	struct options o;
	struct table *t;
	int data, listener;

	report_as(argv[0]);
	o = options_parse(argc, argv);
	sandbox_use(o.sandbox);
	raise_limits();
	umask(077);
	data = open_folder(&o);
	listener = net_listen(o.host, o.port);
	if (listener < 0 && errno == EINVAL)
		usage_error("--listen takes a numeric IPv4 or IPv6 address, not \"%s\"", o.host);
	if (listener < 0)
		fatal("cannot listen on %s port %u: %s", o.host, (unsigned)o.port, strerror(errno));
	daemon_drop(o.user);
	make_folders(&o, data);
	if (o.daemon)
		daemon_begin();
	lock_folder(&o, data);
	sasl_init(data);
	if (o.daemon)
		daemon_ready();
	t = table_make(o.clients);
	known_read(&t->guesses, data);
	parent_run(t, listener, data, &o);
	return 0;
}

/* A batch that a failed sync refused never comes back, also if it could not be cut at once. */
#include "unit.h"

#include "check.h"
#include "lines.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FIRST, REFUSED, OTHER, AFTER, WRITERS };

struct refused {
	char dir[FOLDER_BYTES];
	int data;
	struct log_shared shared;
	struct log log, other; /* as two processes open it */
	uint64_t waiting;      /* end of the batch that other waits for */
};

/* Number of the next calls of fdatasync that fail with EIO. */
static int failures;

/* The linker replaces calls of fdatasync by calls of __wrap_fdatasync. */
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int
__wrap_fdatasync(int fd)
{
	if (failures == 0)
		return __real_fdatasync(fd);
	failures--;
	errno = EIO;
	return -1;
}

/* Number of the next calls of flock that fail with EIO. */
static int lock_failures;

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int
__wrap_flock(int fd, int operation)
{
	if (lock_failures == 0)
		return __real_flock(fd, operation);
	lock_failures--;
	errno = EIO;
	return -1;
}

/* Permits no new descriptors, or as many as before. */
static void
refuse_descriptors(bool so)
{
	static rlim_t before;
	struct rlimit limit;

	check(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit gets the limit of descriptors");
	if (so)
		before = limit.rlim_cur;
	limit.rlim_cur = so ? 0 : before;
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit sets the limit of descriptors");
}

static void
open_both(struct refused *m)
{
	struct log_recovery found;

	log_shared_init(&m->shared);
	check(log_open(&m->log, m->data, "room", &m->shared, true, &found), "log_open opens the log; got %s", strerror(errno));
	check(log_open(&m->other, m->data, "room", &m->shared, false, &found), "log_open opens the log again; got %s", strerror(errno));
}

/* Appends a message that is not committed, and returns its end. */
static uint64_t
append(struct log *l, int writer)
{
	char scratch[1024], text[64];
	struct entry e = { .body = { text, 0 } };
	struct log_batch b = { .entries = &e, .count = 1, .scratch = scratch, .capacity = sizeof scratch };
	uint64_t first, end = 0;

	e.body.length = (size_t)snprintf(text, sizeof text, ":w%d!b@c PRIVMSG #room :%d 0", writer, writer);
	check(log_append(l, &b, &first, &end), "log_append writes a message; got %s", strerror(errno));
	return end;
}

/* Stores a message, and writes two that are still to be committed. Returns the end of the first of
 * these; that of the other, which another process writes, is m->waiting. */
static uint64_t
write_two(struct refused *m)
{
	uint64_t end;

	check_folder(m->dir);
	m->data = open(m->dir, O_RDONLY | O_DIRECTORY);
	open_both(m);
	check(lines_say(&m->log, FIRST, 0), "the first message is stored");
	end = append(&m->log, REFUSED);
	m->waiting = append(&m->other, OTHER);
	return end;
}

/* A message is stored; the sync of the next two fails, and they cannot be cut then. With early set,
 * that fails at once; otherwise at the sync of the cut segment. */
static void
refuse(struct refused *m, bool early)
{
	uint64_t end = write_two(m);

	failures = early ? 1 : 2;
	if (early)
		refuse_descriptors(true);
	check(log_commit(&m->log, end) == LOG_LOST, "log_commit refuses a message whose sync fails");
	if (early)
		refuse_descriptors(false);
	check(failures == 0, "all failures were used; %d are left", failures);
}

/* A message is stored; the lock for the sync of the next two cannot be taken. */
static void
refuse_lock(struct refused *m)
{
	uint64_t end = write_two(m);

	lock_failures = 1;
	check(log_commit(&m->log, end) == LOG_LOST, "log_commit refuses a message whose lock fails");
}

static void
check_stored(struct refused *m, int after, const char *when)
{
	int next[WRITERS] = { 0 };

	check(lines_read(m->data, "room", 0, next, WRITERS) == 0, "%s: the lines are valid", when);
	check(next[FIRST] == 1, "%s: the stored message is there once; got %d", when, next[FIRST]);
	check(next[REFUSED] == 0, "%s: the refused message does not come back; got %d", when, next[REFUSED]);
	check(next[OTHER] == 0, "%s: nor does that of the other process; got %d", when, next[OTHER]);
	check(next[AFTER] == after, "%s: the later message is there %d times; got %d", when, after, next[AFTER]);
}

/* Closes the log, recovers it as the next start of the server does, and removes it. */
static void
restart(struct refused *m, bool after)
{
	char command[FOLDER_BYTES + 16];

	log_close(&m->log);
	log_close(&m->other);
	open_both(m);
	check_stored(m, after, "after a restart");
	check(lines_say(&m->other, AFTER, after), "the log goes on after a restart");
	check_stored(m, after + 1, "after a restart and one more message");
	log_close(&m->log);
	log_close(&m->other);
	close(m->data);
	snprintf(command, sizeof command, "rm -r %s", m->dir);
	check(system(command) == 0, "the folder can be removed");
}

static void
test_next_message(bool early, bool by_other)
{
	struct refused m;

	refuse(&m, early);
	check(lines_say(by_other ? &m.other : &m.log, AFTER, 0), "the next message is stored");
	check_stored(&m, 1, "after the next message");
	check(by_other || log_commit(&m.other, m.waiting) == LOG_LOST, "the process that waits finds its batch refused");
	restart(&m, true);
}

static void
test_waiting_process(bool early)
{
	struct refused m;

	refuse(&m, early);
	check(log_commit(&m.other, m.waiting) == LOG_LOST, "a batch that waits for the same sync is refused, although the next sync succeeds");
	check_stored(&m, 0, "after the commit of the process that waits");
	restart(&m, false);
}

static void
test_stop(bool early)
{
	struct refused m;

	refuse(&m, early);
	restart(&m, false);
}

static void
test_lock(bool waiting)
{
	struct refused m;

	refuse_lock(&m);
	if (waiting)
		check(log_commit(&m.other, m.waiting) == LOG_LOST, "a batch behind a refused one is refused");
	else
		check(lines_say(&m.log, AFTER, 0), "the next message is stored");
	check_stored(&m, !waiting, "after a lock that failed");
	restart(&m, !waiting);
}

void
test_refused(void)
{
	test_lock(true);
	test_lock(false);
	for (int early = 1; early >= 0; early--) {
		test_next_message(early, false);
		test_next_message(early, true);
		test_waiting_process(early);
		test_stop(early);
	}
}

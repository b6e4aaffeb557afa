/* What the paper asks of the log, between processes: no message over another, no reader sees a part of one, readers do not wait. */
#include "unit.h"

#include "check.h"
#include "log.h"
#include "reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 6, MESSAGES = 150, READERS = 3, BYTES = 1 << 17, TEXT_MAX = 600 };

/* In memory that all share. */
struct common {
	struct log_shared shared;
	_Atomic unsigned acknowledged[WRITERS]; /* messages that a writer knows to be durable */
};

static char scratch[BYTES];

static bool
say(struct log *l, int writer, int number)
{
	char body[TEXT_MAX + 64];
	int head = snprintf(body, sizeof body, ":w%d!b@c PRIVMSG #room :%d %d ", writer, writer, number);
	size_t text = (size_t)(writer * 37 + number * 11) % TEXT_MAX;
	struct entry e = { .body = { body, (size_t)head + text } };
	struct log_batch b = { .entries = &e, .count = 1, .scratch = scratch, .room = sizeof scratch };
	uint64_t first, end;

	memset(body + head, 'a' + writer, text);
	return log_append(l, &b, &first, &end) && log_commit(l, end) != LOG_LOST;
}

static _Noreturn void
write_all(struct common *c, int data, int writer, int count)
{
	struct log_recovery found;
	struct log l;

	if (!log_open(&l, data, "room", &c->shared, false, &found))
		_exit(2);
	for (int i = 0; i < count; i++) {
		if (!say(&l, writer, i))
			_exit(3);
		atomic_store(&c->acknowledged[writer], (unsigned)i + 1);
	}
	_exit(0);
}

/* Follows the log until last lines came, or until its end where last is 0; every line must be whole, and the next of its writer. */
static int
read_all(int data, int last, int next[WRITERS])
{
	static char buffer[BYTES];
	int n = 0, writer, number;
	struct reader r;
	uint64_t first;

	if (!reader_open(&r, data, "room", 0))
		return 4;
	while (n < last || (last == 0 && r.position < reader_committed(&r))) {
		long got = reader_read(&r, buffer, sizeof buffer, reader_committed(&r), &first);
		struct slice rest = { buffer, got > 0 ? (size_t)got : 0 };

		if (got < 0)
			return 5;
		while (rest.length > 0) {
			struct slice line = { rest.at, slice_cut(&rest, '\n').length + 1 };
			char text[64];

			if (!stored_whole(line, first) || !slice_copy((struct slice){ stored_plain(line).at, 40 }, text, sizeof text))
				return 6;
			if (sscanf(text, ":w%*d!b@c PRIVMSG #room :%d %d", &writer, &number) != 2 || number != next[writer]++)
				return 7;
			first += line.length;
			n++;
		}
	}
	reader_close(&r);
	return 0;
}

static int
status_of(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid, "a process ends");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static struct common *
begin(char dir[32], int *data)
{
	struct common *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct log_recovery found;
	struct log l;

	snprintf(dir, 32, "/tmp/chatd-unit-XXXXXX");
	check(c != MAP_FAILED && mkdtemp(dir) != NULL, "there is memory, and a folder");
	*data = open(dir, O_RDONLY | O_DIRECTORY);
	log_shared_init(&c->shared);
	check(log_open(&l, *data, "room", &c->shared, true, &found), "the log is made");
	log_close(&l);
	return c;
}

static void
end(struct common *c, const char *dir, int data)
{
	char command[64];

	munmap(c, sizeof *c);
	close(data);
	snprintf(command, sizeof command, "rm -r %s", dir);
	check(system(command) == 0, "the folder goes");
}

static void
test_side_by_side(void)
{
	char dir[32];
	int data;
	struct common *c = begin(dir, &data);
	pid_t writers[WRITERS], readers[READERS];
	int next[WRITERS] = { 0 };

	for (int i = 0; i < READERS; i++)
		if ((readers[i] = fork()) == 0)
			_exit(read_all(data, WRITERS * MESSAGES, next));
	for (int i = 0; i < WRITERS; i++)
		if ((writers[i] = fork()) == 0)
			write_all(c, data, i, MESSAGES);
	for (int i = 0; i < WRITERS; i++)
		check(status_of(writers[i]) == 0, "writer %d has written all", i);
	for (int i = 0; i < READERS; i++)
		check(status_of(readers[i]) == 0, "reader %d has seen all, whole, each once, in each writer's order", i);
	end(c, dir, data);
}

/* Writers are killed at any moment. What they knew to be durable is there, once and in order; the others go on. */
static void
test_killed_writers(void)
{
	enum { ROUNDS = 12 };

	for (int round = 0; round < ROUNDS; round++) {
		char dir[32];
		int data, next[WRITERS] = { 0 };
		struct common *c = begin(dir, &data);
		pid_t writers[WRITERS];
		struct log_recovery found;
		struct log l;

		for (int i = 0; i < WRITERS; i++)
			if ((writers[i] = fork()) == 0)
				write_all(c, data, i, i < WRITERS / 2 ? 1000000 : MESSAGES);
		while (atomic_load(&c->acknowledged[0]) < (unsigned)(5 + 7 * round))
			nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
		for (int i = 0; i < WRITERS / 2; i++)
			kill(writers[i], SIGKILL);
		for (int i = 0; i < WRITERS; i++)
			check(status_of(writers[i]) == (i < WRITERS / 2 ? -SIGKILL : 0), "writer %d ends as it should", i);
		log_shared_reset(&c->shared);
		check(log_open(&l, data, "room", &c->shared, true, &found) && found.missing == 0, "nothing is missing");
		log_close(&l);
		check(read_all(data, 0, next) == 0, "what is there is whole, each once and in order");
		for (int i = 0; i < WRITERS; i++)
			check(next[i] >= (int)atomic_load(&c->acknowledged[i]), "what writer %d knew to be durable is there", i);
		end(c, dir, data);
	}
}

void
test_log_processes(void)
{
	test_side_by_side();
	test_killed_writers();
}

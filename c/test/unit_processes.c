/* Several processes write and read one log at the same time. No message overwrites another, and no
 * reader sees a part of one. Writers may be killed at any moment. */
#include "unit.h"

#include "check.h"
#include "lines.h"
#include "log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 6, MESSAGES = 150, READERS = 3 };

/* Memory shared by all processes. */
struct common {
	struct log_shared shared;
	_Atomic unsigned acknowledged[WRITERS]; /* messages that a writer knows to be durable */
};

/* Runs in a child process: a writer that appends count messages to the log, which exists. It
 * neither creates nor recovers the log (recover is false). */
static _Noreturn void
write_all(struct common *c, int data, int writer, int count)
{
	struct log_recovery found;
	struct log l;

	if (!log_open(&l, data, "room", &c->shared, false, &found))
		_exit(2);
	for (int i = 0; i < count; i++) {
		if (!lines_say(&l, writer, i))
			_exit(3);
		atomic_store(&c->acknowledged[writer], (unsigned)i + 1);
	}
	_exit(0);
}

/* Waits for a child. Returns its exit status, or the negative number of the signal that killed
 * it. */
static int
status_of(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid, "the child process %ld can be waited for", (long)pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Creates a folder with an empty log in it, and the memory that all processes share. */
static struct common *
begin(char dir[FOLDER_BYTES], int *data)
{
	struct common *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct log_recovery found;
	struct log l;

	check(c != MAP_FAILED, "mmap gives memory that the processes share");
	check_folder(dir);
	*data = open(dir, O_RDONLY | O_DIRECTORY);
	log_shared_init(&c->shared);
	/* true: create the folder and recover the log */
	check(log_open(&l, *data, "room", &c->shared, true, &found), "log_open creates the log");
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
	check(system(command) == 0, "the folder can be removed: %s", command);
}

static void
test_side_by_side(void)
{
	char dir[FOLDER_BYTES];
	int data;
	struct common *c = begin(dir, &data);
	pid_t writers[WRITERS], readers[READERS];
	int next[WRITERS] = { 0 };

	for (int i = 0; i < READERS; i++)
		if ((readers[i] = fork()) == 0) /* each reads on until it has all messages */
			_exit(lines_read(data, "room", WRITERS * MESSAGES, next, WRITERS));
	for (int i = 0; i < WRITERS; i++)
		if ((writers[i] = fork()) == 0)
			write_all(c, data, i, MESSAGES);
	for (int i = 0; i < WRITERS; i++)
		check(status_of(writers[i]) == 0, "writer %d writes all its messages and exits with status 0", i);
	for (int i = 0; i < READERS; i++)
		check(status_of(readers[i]) == 0, "reader %d finds all messages complete, once, each writer's in order, and exits with status 0", i);
	end(c, dir, data);
}

/* In each round, half of the writers are killed when the first of them has a certain number of
 * acknowledged messages; the number differs between rounds. The acknowledged messages of all
 * writers are in the log, once and in order, and the other writers write all their messages. */
static void
test_killed_writers(void)
{
	enum { ROUNDS = 12 };

	for (int round = 0; round < ROUNDS; round++) {
		char dir[FOLDER_BYTES];
		int data, next[WRITERS] = { 0 }; /* next: messages found in the log, by writer */
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
			check(status_of(writers[i]) == (i < WRITERS / 2 ? -SIGKILL : 0), "writer %d %s", i, i < WRITERS / 2 ? "is ended by SIGKILL" : "exits with status 0");
		log_shared_reset(&c->shared);
		check(log_open(&l, data, "room", &c->shared, true, &found) && found.missing == 0, "after the kills the log opens and no committed bytes are missing");
		log_close(&l);
		/* 0: read the lines that are there, and do not wait for more */
		check(lines_read(data, "room", 0, next, WRITERS) == 0, "after the kills every line in the log is valid, once, and in its writer's order");
		for (int i = 0; i < WRITERS; i++)
			check(next[i] >= (int)atomic_load(&c->acknowledged[i]), "all %d acknowledged messages of writer %d are in the log; got %d", (int)atomic_load(&c->acknowledged[i]), i, next[i]);
		end(c, dir, data);
	}
}

void
test_log_processes(void)
{
	test_side_by_side();
	test_killed_writers();
}

/* Tests of c-common: the promises of its headers, one function for each header. */
#include "check.h"
#include "children.h"
#include "die.h"
#include "drain.h"
#include "list.h"
#include "net.h"
#include "options.h"
#include "session.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 8, LARGE = 1 << 20 };

static const uint64_t second = 1000000000;

static int
status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int
count_args(char **args)
{
	int n = 0;

	while (args[n] != NULL)
		n++;
	return n;
}

/* Returns the exit status of a process that parses args; its error message is not shown. */
static int
status_of_parse(char **args)
{
	pid_t pid = fork();

	if (pid == 0) {
		check(freopen("/dev/null", "w", stderr) != NULL, "standard error can be put aside");
		options_parse(count_args(args), args);
		_exit(0);
	}
	return status_of(pid);
}

static void
test_options(void)
{
	static char *good[] = { "p", "--listen", "[::1]:80", "--workload", "echo", "--size", "7", NULL };
	static char *bad[][ARGS_MAX] = {
		{ "p", NULL },
		{ "p", "--listen", NULL },
		{ "p", "--listen", "127.0.0.1", NULL },
		{ "p", "--listen", "127.0.0.1:0", NULL },
		{ "p", "--listen", "127.0.0.1:65536", NULL },
		{ "p", "--listen", "127.0.0.1:8x", NULL },
		{ "p", "--listen", ":80", NULL },
		{ "p", "--listen", "127.0.0.1:80", "--size", "0", NULL },
		{ "p", "--listen", "127.0.0.1:80", "--size", "", NULL },
		{ "p", "--listen", "127.0.0.1:80", "--work-us", "-1", NULL },
		{ "p", "--listen", "127.0.0.1:80", "--wait-ms", "1000000001", NULL },
		{ "p", "--listen", "127.0.0.1:80", "--workload", "sinks", NULL },
		{ "p", "--port", "80", NULL },
	};
	struct options o = options_parse(count_args(good), good);

	check(strcmp(o.host, "::1") == 0, "the host loses its brackets");
	check(o.port == 80 && o.echo && o.size == 7, "flags are read");
	check(o.work_us == 0 && o.wait_ms == 0, "what is not given has its default");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		check(status_of_parse(bad[i]) == EXIT_USAGE, "bad command line %zu ends with status 2", i);
}

static void
test_work(void)
{
	struct options o = { .size = 10, .wait_ms = 3 };
	uint32_t part = 0;
	uint64_t start;

	check(work_handle(&o, &part, 9) == 0 && part == 9, "9 bytes of 10 complete no message");
	check(work_handle(&o, &part, 1) == 3000000 && part == 0, "the tenth completes it");
	check(work_handle(&o, &part, 25) == 6000000 && part == 5, "25 bytes complete two");
	o.work_us = 2000;
	start = work_now();
	work_handle(&o, &part, 5);
	check(work_now() - start >= 2000000, "work takes its time");
}

struct number {
	int n;
	struct link link;
};

static void
test_list(void)
{
	struct number one = { .n = 1 }, two = { .n = 2 };
	struct link list;

	list_init(&list);
	check(list_empty(&list), "a new list is empty");
	list_insert(&list, &one.link);
	list_insert(&one.link, &two.link);
	check(list_element(list.next, struct number, link)->n == 1, "the first is first");
	check(list_element(list.previous, struct number, link)->n == 2, "the last is last");
	list_remove(&one.link);
	list_remove(&two.link);
	check(list_empty(&list), "a list from which all were removed is empty");
}

/* Reads until the end, and exits with 0 if it saw LARGE bytes. */
static pid_t
fork_reader(const int pair[2])
{
	pid_t pid = fork();

	if (pid == 0) {
		static char data[READ_MAX];
		size_t total = 0;
		ssize_t n;

		close(pair[0]);
		while ((n = read(pair[1], data, sizeof data)) > 0)
			total += (size_t)n;
		_exit(total == LARGE ? 0 : 1);
	}
	close(pair[1]);
	return pid;
}

static void
test_net(void)
{
	static char data[LARGE];
	int pair[2];
	pid_t reader;

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a socket pair");
	net_nonblocking(pair[0]);
	reader = fork_reader(pair);
	check(net_write_all(pair[0], data, sizeof data), "all is written, though it does not fit at once");
	close(pair[0]);
	check(status_of(reader) == 0, "and all arrives");
	check(net_accept_again(ECONNABORTED) && net_accept_again(EINTR), "a lost connection is no reason to pause");
	check(!net_accept_again(EMFILE), "running out of descriptors is");
}

/* The drain in a thread: the effect of a signal before, and of one during, each call. */
static void *
drain_in_thread(void *argument)
{
	int *pair = argument;
	char byte;
	uint64_t start;

	check(write(pair[1], "ab", 2) == 2, "two bytes arrive");
	drain_reading(pair[0]);
	pthread_kill(pthread_self(), SIGUSR1);
	check(drain_asked(), "the signal is known");
	check(read(pair[0], &byte, 1) == 1 && read(pair[0], &byte, 1) == 1, "what has arrived is read");
	check(read(pair[0], &byte, 1) < 0 && errno == EAGAIN, "then reading ends instead of waiting");
	start = work_now();
	drain_sleep(60 * second);
	check(work_now() - start < 30 * second, "sleeping is cut short");
	drain_reading(-1);
	drain_reset();
	start = work_now();
	drain_sleep(second / 100);
	check(work_now() - start >= second / 100, "without a signal it is not");
	return NULL;
}

static void
test_drain(void)
{
	pthread_t thread;
	int pair[2];

	drain_on(SIGUSR1);
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a socket pair");
	check(pthread_create(&thread, NULL, drain_in_thread, pair) == 0, "a thread");
	pthread_join(thread, NULL);
	check(!drain_asked(), "one thread's signal is not another's");
	check((fcntl(pair[1], F_GETFL) & O_NONBLOCK) == 0, "only what was read from is changed");
	close(pair[0]);
	close(pair[1]);
}

/*
 * A child that reads to the end of its session, and one that ignores all signals: both are gone
 * after the stop.
 */
static void
test_children(void)
{
	struct options o = { .echo = true, .size = 10 };
	char data[3];
	int pair[2];
	pid_t stubborn;

	drain_on(SIGTERM);
	children_init();
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a socket pair");
	if (children_fork(pair[0]) == 0) {
		close(pair[1]);
		session_run(pair[0], &o);
		_exit(0);
	}
	close(pair[0]);
	check(write(pair[1], "abc", 3) == 3 && read(pair[1], data, 3) == 3, "a session in a child echoes");
	stubborn = children_fork(-1);
	if (stubborn == 0) {
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	check(children_count() == 2, "two children are counted");
	children_stop();
	check(children_count() == 0, "none is left");
	check(kill(stubborn, 0) != 0 && errno == ESRCH, "not even one that ignores SIGTERM");
	check(read(pair[1], data, 1) == 0, "the session closed its connection");
	close(pair[1]);
}

int
main(void)
{
	test_options();
	test_work();
	test_list();
	test_net();
	test_drain();
	test_children();
	printf("unit: %u checks passed\n", checks_passed());
	return 0;
}

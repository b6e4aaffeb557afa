#include "check.h"
#include "clock.h"
#include "server.h"
#include "talk.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MANY = CHILDREN_MAX };

static struct server s;
static struct peer ann, bob, eve;

/* A client that does not read delays no other client, and misses nothing when it reads again. */
void
test_slow_reader(void)
{
	enum { LINES = 12000, TEXT = 350 };
	char want[32];
	int small = 65536;

	server_make(&s, chatd);
	server_start(&s, arguments);
	peer_join(&eve, &s, "eve", "", "#room");
	setsockopt(eve.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	peer_join(&ann, &s, "ann", "", "#room");
	for (int i = 0; i < LINES; i++)
		peer_say(&ann, "PRIVMSG #room :%05d %0*d", i, TEXT, 0);
	peer_sync(&ann); /* all are on disk, and eve has read almost nothing */
	for (int i = 0; i < LINES; i++) {
		snprintf(want, sizeof want, "#room :%05d ", i);
		peer_expect_without(&eve, want, "ERROR");
	}
	peer_close(&ann);
	peer_close(&eve);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* Sends a signal until the process is gone: valgrind keeps one that arrives between two system
 * calls until the next call ends. */
static void
kill_until_gone(pid_t pid, int signal)
{
	uint64_t end = clock_steady() + WAIT_LIMIT_MS;

	while (kill(pid, signal) == 0 && clock_steady() < end)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	check(clock_steady() < end, "process %ld is gone after signal %d", (long)pid, signal);
}

/* Killed processes of a client leave nothing behind: not their other half, not the client in its
 * rooms, not a lock. */
void
test_death(void)
{
	static const int signals[] = { SIGKILL, SIGSEGV, SIGABRT };
	pid_t pids[MANY];
	size_t n;

	server_make(&s, chatd);
	server_start(&s, arguments);
	server_expect_children(&s, 0);
	peer_join(&ann, &s, "ann", "", "#room");
	n = server_children(&s, pids, MANY);
	check(n == 2, "a client has two processes; got %zu", n);
	for (int i = 0; i < 6; i++) {
		pid_t now[MANY], victim = 0;
		size_t count;

		peer_join(&bob, &s, "bob", "", "#room");
		peer_expect(&ann, "JOIN #room");
		count = server_children(&s, now, MANY);
		for (size_t k = 0; k < count; k++)
			if (now[k] != pids[0] && now[k] != pids[1] && (victim == 0 || i % 2 == 1))
				victim = now[k];
		peer_say(&bob, "PRIVMSG #room :about to die %d", i);
		peer_expect(&ann, "about to die");
		kill_until_gone(victim, signals[i / 2]);
		peer_expect(&ann, "QUIT :");
		peer_expect_end(&bob);
		peer_close(&bob);
		server_expect_children(&s, 2);
	}
	peer_say(&ann, "NAMES #room");
	peer_expect(&ann, " 353 ann = #room :ann");
	check(strstr(ann.line, "bob") == NULL, "NAMES does not list bob, whose processes were killed; got \"%s\"", ann.line);
	peer_close(&ann);
	server_expect_children(&s, 0);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* After SIGTERM all input that has arrived is durable, every client receives ERROR, and no process
 * remains. */
void
test_stop(void)
{
	enum { LINES = 100 };
	char want[32];

	server_make(&s, chatd);
	server_start(&s, arguments);
	peer_join(&ann, &s, "ann", "echo-message", "#room");
	peer_join(&bob, &s, "bob", "", "#room");
	for (int i = 0; i < LINES; i++)
		peer_say(&ann, "PRIVMSG #room :%03d", i);
	peer_expect(&ann, "#room :000");
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	for (int i = 1; i < LINES; i++) {
		snprintf(want, sizeof want, "#room :%03d", i);
		peer_expect(&ann, want);
	}
	peer_expect(&ann, "ERROR :Closing link: the server is stopping");
	peer_expect_end(&ann);
	peer_expect(&bob, "ERROR :Closing link: the server is stopping");
	peer_close(&ann);
	peer_close(&bob);
	server_start(&s, arguments);
	peer_register(&ann, &s, "ann", "");
	peer_say(&ann, "JOIN #room");
	for (int i = 0; i < LINES; i++) {
		snprintf(want, sizeof want, "] %03d", i);
		peer_expect(&ann, want);
	}
	peer_close(&ann);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* Counts the echoes of "#room :N", in order, to the end of the connection; n were read before. */
static int
count_echoes(struct peer *p, int n)
{
	int number;

	while (peer_line(p)) {
		const char *at = strstr(p->line, "PRIVMSG #room :");

		if (at == NULL)
			continue;
		check(sscanf(at, "PRIVMSG #room :%d", &number) == 1 && number == n, "the echo of message %d comes next; got \"%s\"", n, p->line);
		n++;
	}
	return n;
}

/* After SIGKILL of the server every echoed message is there, once, in order, when it starts
 * again. */
void
test_crash(void)
{
	enum { ROUNDS = 4, LINES = 400 };
	char want[32];

	for (int round = 0; round < ROUNDS; round++) {
		int echoed;

		server_make(&s, chatd);
		server_start(&s, arguments);
		peer_join(&ann, &s, "ann", "echo-message", "#room");
		for (int i = 0; i < LINES; i++) {
			peer_say(&ann, "PRIVMSG #room :%d", i);
			if (i == 30 * round + 5)
				peer_expect(&ann, "#room :0"); /* the server is in the middle of the burst */
		}
		server_kill(&s);
		echoed = count_echoes(&ann, 1);
		peer_close(&ann);
		server_start(&s, arguments);
		peer_register(&bob, &s, "bob", "");
		peer_say(&bob, "JOIN #room");
		for (int i = 0; i < echoed; i++) {
			snprintf(want, sizeof want, "] %d", i);
			peer_expect(&bob, "PRIVMSG");
			check(strlen(bob.line) > strlen(want) && strcmp(bob.line + strlen(bob.line) - strlen(want), want) == 0, "after SIGKILL and a restart the history has message %d of the %d that were echoed next; got \"%s\"", i, echoed, bob.line);
		}
		peer_close(&bob);
		check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
		server_remove(&s);
	}
}

/* One server for each data directory; and other errors at the start, each with its exit status. */
void
test_second_server(void)
{
	static const struct { const char *args; int status; } starts[] = {
		{ "--listen 127.0.0.1:6667", 2 }, { "--data /tmp/x --listen nowhere", 2 }, { "--data /tmp/x --clients 0", 2 }, { "--data /tmp/x --what", 2 },
		{ "--data", 2 }, { "--data %s --listen 127.0.0.1:%u", 1 }, { "--data %s --listen 192.0.2.1:6667", 1 }, { "--help >/dev/null", 0 },
		{ "--data %s --listen 127.0.0.2:%u", 1 },
	};
	char command[512], args[256];

	server_make(&s, chatd);
	server_start(&s, arguments);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		int status;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(args, sizeof args, starts[i].args, s.data, (unsigned)s.port);
#pragma GCC diagnostic pop
		snprintf(command, sizeof command, "%s %s 2>/dev/null", chatd, args);
		status = system(command);
		check(WIFEXITED(status) && WEXITSTATUS(status) == starts[i].status, "chatd %s exits with status %d; got the wait status %d", args, starts[i].status, status);
	}
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* Reads the process id in the file "lock" of the data directory. */
static pid_t
locked_by(void)
{
	char path[128];
	long pid = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/lock", s.data);
	f = fopen(path, "r");
	check(f != NULL && fscanf(f, "%ld", &pid) == 1 && pid > 1, "the data directory's file \"lock\" contains the server's process id");
	fclose(f);
	return (pid_t)pid;
}

/* With --daemon the command ends when the server listens. The server has no terminal and a session
 * of its own. */
void
test_daemon(void)
{
	uint64_t end = clock_steady() + WAIT_LIMIT_MS;
	char command[512], more[128] = "";
	pid_t pid;

	for (int i = 0; arguments[i] != NULL; i++)
		snprintf(more + strlen(more), sizeof more - strlen(more), " %s", arguments[i]);
	server_make(&s, chatd);
	server_start(&s, arguments); /* to find a free port */
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	snprintf(command, sizeof command, "%s --daemon --data %s --listen 127.0.0.1:%u%s", chatd, s.data, (unsigned)s.port, more);
	check(system(command) == 0, "chatd --daemon exits with status 0 once the server listens: %s", command);
	pid = locked_by();
	check(getsid(pid) != getsid(0) && getsid(pid) != pid, "the daemon, process %ld, has a session of its own and does not lead it", (long)pid);
	peer_join(&ann, &s, "ann", "", "#room");
	snprintf(command + strlen(command), sizeof command - strlen(command), " 2>/dev/null");
	check(system(command) != 0, "a second chatd --daemon on the same data exits with an error: %s", command);
	kill(pid, SIGTERM);
	peer_expect(&ann, "ERROR :Closing link: the server is stopping");
	peer_close(&ann);
	while (kill(pid, 0) == 0 && clock_steady() < end)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	check(clock_steady() < end, "the daemon exits within %d ms of SIGTERM", WAIT_LIMIT_MS);
	server_remove(&s);
}

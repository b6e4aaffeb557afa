/*
 * Runs a subject and exchanges data with it: smoke PROGRAM PORT sink|echo. Several connections send
 * bytes that carry their connection and sequence, cut at awkward places, then half-close; two are
 * reset. All of the bytes must come back (or out), in order. Then SIGTERM must end the program with
 * status 0 and, since it is built with the sanitizers, without output on standard error.
 */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CONNECTIONS = 16, /* so many that a byte holds its number and the sequence modulo 16 */
	ROUNDS = 20,
	CUT_MAX = 4097,
	ALARM_SECONDS = 60,
};

static const size_t cuts[] = { 1, 999, 1000, 1001, 4095, CUT_MAX, 7 };

struct subject {
	pid_t pid;
	int out; /* its standard output */
	int err;
};

static struct subject
start(char *program, char *port, char *workload)
{
	char address[64];
	int out[2], err[2];
	struct subject s;

	snprintf(address, sizeof address, "127.0.0.1:%s", port);
	check(pipe(out) == 0 && pipe(err) == 0, "pipes");
	s.pid = fork();
	if (s.pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		close(out[0]);
		close(err[0]);
		execl(program, program, "--listen", address, "--workload", workload, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	s.out = out[0];
	s.err = err[0];
	return s;
}

/* Connects as soon as s listens; alarm ends the program if it never does. */
static int
connect_to(const struct subject *s, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	struct timespec rest = { .tv_nsec = 10000000 };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
			return fd;
		close(fd);
		check(waitpid(s->pid, NULL, WNOHANG) == 0, "the subject lives and will listen on port %s", port);
		nanosleep(&rest, NULL);
	}
}

static void
reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(fd);
}

static void
send_piece(int fd, unsigned connection, size_t *sent, size_t length)
{
	unsigned char data[CUT_MAX];

	for (size_t i = 0; i < length; i++)
		data[i] = (unsigned char)(connection << 4 | ((*sent + i) & 15));
	check(write(fd, data, length) == (ssize_t)length, "connection %u takes %zu bytes", connection, length);
	*sent += length;
}

/* Reads from fd until all seen[] reach sent, checking the order. */
static void
expect(int fd, size_t *seen, size_t total)
{
	unsigned char data[CUT_MAX];

	for (size_t got = 0; got < total;) {
		ssize_t n = read(fd, data, sizeof data);

		check(n > 0, "%zu bytes come, not only %zu", total, got);
		for (ssize_t i = 0; i < n; i++) {
			unsigned connection = data[i] >> 4;

			if ((data[i] & 15) != (seen[connection] & 15))
				check(false, "byte %zu of connection %u comes in its place", seen[connection], connection);
			seen[connection]++;
		}
		got += (size_t)n;
	}
}

/* Sends a round on every connection, and receives its answers before the next round. */
static void
converse(struct subject *s, const int *fds, bool echo, size_t *sent, size_t *seen)
{
	for (unsigned r = 0; r < ROUNDS; r++) {
		size_t cut = cuts[r % (sizeof cuts / sizeof cuts[0])];

		for (unsigned c = 0; c < CONNECTIONS; c++)
			send_piece(fds[c], c, &sent[c], cut);
		for (unsigned c = 0; echo && c < CONNECTIONS; c++)
			expect(fds[c], seen, cut);
		if (!echo)
			expect(s->out, seen, CONNECTIONS * cut);
	}
}

static void
stop(struct subject *s)
{
	char complaint[4096];
	int status;
	ssize_t n;

	kill(s->pid, SIGTERM);
	check(waitpid(s->pid, &status, 0) == s->pid, "the subject ends");
	n = read(s->err, complaint, sizeof complaint);
	check(n == 0, "it says nothing, not \"%.*s\"", n > 0 ? (int)n : 0, complaint);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ends with status 0, not %d", status);
	check(read(s->out, complaint, 1) == 0, "nothing more comes out, and no process is left that could");
}

int
main(int argc, char **argv)
{
	size_t sent[CONNECTIONS] = { 0 }, seen[CONNECTIONS] = { 0 };
	int fds[CONNECTIONS];
	struct subject s;
	bool echo;
	char end;

	check(argc == 4, "usage: smoke PROGRAM PORT sink|echo");
	echo = strcmp(argv[3], "echo") == 0;
	signal(SIGPIPE, SIG_IGN);
	alarm(ALARM_SECONDS);
	s = start(argv[1], argv[2], argv[3]);
	for (int i = 0; i < CONNECTIONS; i++)
		fds[i] = connect_to(&s, argv[2]);
	reset(connect_to(&s, argv[2]));
	converse(&s, fds, echo, sent, seen);
	reset(connect_to(&s, argv[2]));
	for (int i = 0; i < CONNECTIONS / 2; i++) {
		shutdown(fds[i], SHUT_WR);
		check(read(fds[i], &end, 1) == 0, "a half-closed connection is closed");
	}
	stop(&s);
	printf("%s %s: %u checks passed\n", argv[1], argv[3], checks_passed());
	return 0;
}

#include "server.h"

#include "base64.h"
#include "check.h"
#include "clock.h"
#include "sha256.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 10, STOP_MS = 2000, SLACK_MS = 3000 /* allowance for a busy machine */ };
enum { NARROW_BYTES = 4096 };

static void
pause_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000L }, NULL);
}

static struct sockaddr_in
address_of(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static uint16_t
free_port(void)
{
	struct sockaddr_in a = address_of(0);
	socklen_t length = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && getsockname(fd, (struct sockaddr *)&a, &length) == 0, "a TCP port on 127.0.0.1 is free");
	close(fd);
	return ntohs(a.sin_port);
}

static struct server *current; /* cleaned up when a check fails, */
static pid_t whose;             /* in this process */

static void
clean_up(void)
{
	if (current == NULL || getpid() != whose)
		return;
	if (current->pid != 0)
		server_kill(current);
	server_remove(current);
}

void
server_make(struct server *s, const char *program)
{
	char name[128];
	FILE *f;

	if (whose == 0)
		atexit(clean_up);
	whose = getpid();
	current = s;
	*s = (struct server){ .program = program };
	check_folder(s->data);
	snprintf(name, sizeof name, "%s/secret", s->data);
	f = fopen(name, "w");
	check(f != NULL && fprintf(f, "%064d\n", 0) == 65 && fclose(f) == 0, "the test can write the server's secret to the data directory");
}

static int
try_connect(uint16_t port, int receive_buffer)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (receive_buffer > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static void
run(const struct server *s, const char *const *more)
{
	char listen[32], *args[32] = { (char *)(uintptr_t)s->program, "--data", (char *)(uintptr_t)s->data, "--listen", listen, "--flood", "0" };
	int n = 7;

	snprintf(listen, sizeof listen, "127.0.0.1:%u", (unsigned)s->port);
	for (; more != NULL && *more != NULL; more++)
		args[n++] = (char *)(uintptr_t)*more;
	execv(s->program, args);
	_exit(127);
}

void
server_start(struct server *s, const char *const *more)
{
	uint64_t end = clock_steady() + WAIT_LIMIT_MS;
	char answer[64];
	int fd;

	s->port = free_port();
	s->pid = fork();
	if (s->pid == 0)
		run(s, more);
	while ((fd = try_connect(s->port, 0)) < 0 && clock_steady() < end) {
		check(waitpid(s->pid, NULL, WNOHANG) == 0, "the server runs until it listens (it has exited: see its message above)");
		pause_a_little();
	}
	check(fd >= 0, "the server listens on port %u within %d ms", (unsigned)s->port, WAIT_LIMIT_MS);
	check(send(fd, "PING x\r\n", 8, MSG_NOSIGNAL) == 8 && recv(fd, answer, sizeof answer, 0) > 0, "the server answers PING on a new connection");
	close(fd);
	s->keeper = 0;
	server_expect_children(s, 1);
	server_children(s, &s->keeper, 1);
	server_expect_children(s, 0); /* the processes of this client have ended when the test starts */
}

int
server_stop(struct server *s)
{
	uint64_t began = clock_steady();
	int status;

	kill(s->pid, SIGTERM);
	check(waitpid(s->pid, &status, 0) == s->pid, "the server process %ld can be waited for", (long)s->pid);
	check(clock_steady() - began < STOP_MS + SLACK_MS, "the server exits within %d ms of SIGTERM", STOP_MS + SLACK_MS);
	s->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void
server_kill(struct server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
}

static bool
is_child(const char *pid, pid_t parent)
{
	char name[64], text[512], *end;
	int fd;
	ssize_t n;

	snprintf(name, sizeof name, "/proc/%.32s/stat", pid);
	fd = open(name, O_RDONLY);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end != NULL && strlen(end) > 4 && end[2] != 'Z' && atoi(end + 4) == parent;
}

size_t
server_children(const struct server *s, pid_t *pids, size_t most)
{
	DIR *list = opendir("/proc");
	struct dirent *d;
	size_t n = 0;

	while (list != NULL && (d = readdir(list)) != NULL && n < most)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && atoi(d->d_name) != s->keeper && is_child(d->d_name, s->pid))
			pids[n++] = atoi(d->d_name);
	if (list != NULL)
		closedir(list);
	return n;
}

void
server_expect_children(const struct server *s, size_t count)
{
	uint64_t end = clock_steady() + WAIT_LIMIT_MS;
	pid_t pids[CHILDREN_MAX];

	while (server_children(s, pids, CHILDREN_MAX) != count) {
		check(clock_steady() < end, "the clients have %zu processes within %d ms; got %zu", count, WAIT_LIMIT_MS, server_children(s, pids, CHILDREN_MAX));
		pause_a_little();
	}
}

void
server_remove(struct server *s)
{
	char command[128];

	current = NULL;
	snprintf(command, sizeof command, "rm -r %s", s->data);
	check(system(command) == 0, "the data directory can be removed: %s", command);
}

void
server_account(const struct server *s, const char *name, const char *password)
{
	static const unsigned char salt[] = "0123456789abcdef";
	enum { SALT = 16, ITERATIONS = 4096 };
	unsigned char salted[SHA256_SIZE], key[SHA256_SIZE], stored[SHA256_SIZE], server[SHA256_SIZE];
	char path[128], texts[3][BASE64_LENGTH(SHA256_SIZE) + 1];
	FILE *f;

	pbkdf2_sha256(slice_of(password), (struct slice){ (const char *)salt, SALT }, ITERATIONS, salted);
	hmac_sha256((struct slice){ (char *)salted, sizeof salted }, slice_of("Client Key"), key);
	sha256((struct slice){ (char *)key, sizeof key }, stored);
	hmac_sha256((struct slice){ (char *)salted, sizeof salted }, slice_of("Server Key"), server);
	base64_encode(salt, SALT, texts[0]);
	base64_encode(stored, sizeof stored, texts[1]);
	base64_encode(server, sizeof server, texts[2]);
	snprintf(path, sizeof path, "%s/accounts", s->data);
	f = fopen(path, "a");
	check(f != NULL, "the test can append to the file \"accounts\"");
	fprintf(f, "%s SCRAM-SHA-256$%d:%s$%s:%s role=member\n", name, ITERATIONS, texts[0], texts[1], texts[2]);
	fclose(f);
}

static void
connect_with(struct peer *p, const struct server *s, int receive_buffer)
{
	p->fd = try_connect(s->port, receive_buffer);
	p->length = p->taken = 0;
	check(p->fd >= 0, "a client can connect to port %u", (unsigned)s->port);
}

void
peer_connect(struct peer *p, const struct server *s)
{
	connect_with(p, s, 0);
}

void
peer_connect_narrow(struct peer *p, const struct server *s)
{
	connect_with(p, s, NARROW_BYTES);
}

void
peer_acknowledge(struct peer *p)
{
#ifdef TCP_QUICKACK
	int on = 1;

	setsockopt(p->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
#else
	(void)p;
#endif
}

void
peer_close(struct peer *p)
{
	close(p->fd);
	p->fd = -1;
}

void
peer_send(struct peer *p, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t w = send(p->fd, at, n, MSG_NOSIGNAL);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return; /* the next read sees the end */
		at += w;
		n -= (size_t)w;
	}
}

void
peer_say(struct peer *p, const char *format, ...)
{
	char text[2048];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof text - 2, format, args);
	va_end(args);
	memcpy(text + n, "\r\n", 2);
	peer_send(p, text, (size_t)n + 2);
}

static bool
fill(struct peer *p)
{
	struct pollfd in = { .fd = p->fd, .events = POLLIN };
	ssize_t n;

	memmove(p->bytes, p->bytes + p->taken, p->length - p->taken);
	p->length -= p->taken;
	p->taken = 0;
	check(p->length < sizeof p->bytes, "a line from the server has at most %zu bytes", sizeof p->bytes);
	check(poll(&in, 1, WAIT_LIMIT_MS) > 0, "the server sends something within %d ms; the last line was \"%s\"", WAIT_LIMIT_MS, p->line);
	n = recv(p->fd, p->bytes + p->length, sizeof p->bytes - p->length, 0);
	if (n > 0)
		p->length += (size_t)n;
	return n > 0;
}

bool
peer_line(struct peer *p)
{
	char *end;
	size_t n;

	while ((end = memchr(p->bytes + p->taken, '\n', p->length - p->taken)) == NULL)
		if (!fill(p))
			return false;
	n = (size_t)(end - (p->bytes + p->taken));
	memcpy(p->line, p->bytes + p->taken, n);
	p->line[n > 0 && p->line[n - 1] == '\r' ? n - 1 : n] = '\0';
	p->taken += n + 1;
	return true;
}

void
peer_expect(struct peer *p, const char *text)
{
	do
		check(peer_line(p), "a line with \"%s\" comes before the connection ends; the last line was \"%s\"", text, p->line);
	while (strstr(p->line, text) == NULL);
}

void
peer_expect_without(struct peer *p, const char *text, const char *other)
{
	do {
		check(peer_line(p), "a line with \"%s\" comes before the connection ends; the last line was \"%s\"", text, p->line);
		check(strstr(p->line, other) == NULL, "no line with \"%s\" comes before the one with \"%s\"; got \"%s\"", other, text, p->line);
	} while (strstr(p->line, text) == NULL);
}

void
peer_expect_end(struct peer *p)
{
	while (peer_line(p))
		continue;
}

void
peer_register(struct peer *p, const struct server *s, const char *nick, const char *caps)
{
	peer_connect(p, s);
	if (*caps != '\0') {
		peer_say(p, "CAP REQ :%s", caps);
		peer_expect(p, " ACK ");
	}
	peer_say(p, "NICK %s", nick);
	peer_say(p, "USER %s 0 * :%s", nick, nick);
	if (*caps != '\0')
		peer_say(p, "CAP END");
	peer_expect(p, " 001 ");
	peer_expect(p, " 422 ");
}

void
peer_join(struct peer *p, const struct server *s, const char *nick, const char *caps, const char *room)
{
	peer_register(p, s, nick, caps);
	peer_say(p, "JOIN %s", room);
	peer_expect(p, " 366 ");
}

void
peer_sync(struct peer *p)
{
	static unsigned long count;
	char token[32];

	snprintf(token, sizeof token, "sync-%lu", ++count);
	peer_say(p, "PING %s", token);
	peer_expect(p, token);
}

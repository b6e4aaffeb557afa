#include "net.h"

#include "die.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void
prepare_process(void)
{
	struct rlimit files;

	signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files); /* best effort: fewer files only mean fewer connections */
	}
}

int
net_listen(const struct options *o)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found;
	int on = 1;
	int error, fd;

	prepare_process();
	error = getaddrinfo(o->host, o->port, &hints, &found);
	if (error != 0)
		die(EXIT_USAGE, "--listen: \"%s\" is not an IPv4 or IPv6 address: %s", o->host, gai_strerror(error));
	fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
	    listen(fd, BACKLOG) != 0)
		die(EXIT_TROUBLE, "cannot listen on %s port %s: %s", o->host, o->port, strerror(errno));
	freeaddrinfo(found);
	return fd;
}

void
net_nodelay(int fd)
{
	int on = 1;

	/* Fails only when the peer has reset already; the next read says so too. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void
net_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

bool
net_accept_again(int error)
{
	return error == EINTR || error == ECONNABORTED || error == EAGAIN || error == EWOULDBLOCK;
}

bool
net_write_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, data, length);

		if (n >= 0) {
			data += n;
			length -= (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			struct pollfd full = { .fd = fd, .events = POLLOUT };

			poll(&full, 1, -1);
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

void
net_print(const char *data, size_t length)
{
	if (!net_write_all(STDOUT_FILENO, data, length))
		die(EXIT_TROUBLE, "cannot write to standard output: %s", strerror(errno));
}

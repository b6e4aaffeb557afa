#include "net.h"

#include "die.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

/* Fills in address and returns its length; 0 if the host is not an address. */
static socklen_t
resolve(const struct options *o, struct sockaddr_storage *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(o->port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(o->port) };

	if (inet_pton(AF_INET, o->host, &v4.sin_addr) == 1) {
		memcpy(address, &v4, sizeof v4);
		return sizeof v4;
	}
	if (inet_pton(AF_INET6, o->host, &v6.sin6_addr) == 1) {
		memcpy(address, &v6, sizeof v6);
		return sizeof v6;
	}
	return 0;
}

int
net_listen(const struct options *o)
{
	struct sockaddr_storage address;
	socklen_t length = resolve(o, &address);
	int on = 1;
	int fd;

	if (length == 0)
		die(EXIT_USAGE, "--listen takes a numeric IPv4 or IPv6 address, not \"%s\"", o->host);
	prepare_process();
	fd = socket(address.ss_family, SOCK_STREAM, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    bind(fd, (struct sockaddr *)&address, length) != 0 ||
	    listen(fd, BACKLOG) != 0)
		die(EXIT_TROUBLE, "cannot listen on %s port %d: %s", o->host, o->port, strerror(errno));
	return fd;
}

void
net_nodelay(int fd)
{
	int on = 1;

	/* Fails only if the peer has reset already; the next read reports that, too. */
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

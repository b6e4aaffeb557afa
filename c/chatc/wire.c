#include "chatc.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SAY_MAX = 1024 };

void
wire_say(struct chat *c, const char *format, ...)
{
	char text[SAY_MAX];
	size_t n, sent = 0;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof text - 2, format, args);
	va_end(args);
	n = length < 0 ? 0 : (size_t)length < sizeof text - 3 ? (size_t)length : sizeof text - 3;
	memcpy(text + n, "\r\n", 2);
	n += 2;
	while (sent < n && !c->failed) {
		ssize_t w = send(c->fd, text + sent, n - sent, MSG_NOSIGNAL);

		if (w >= 0)
			sent += (size_t)w;
		else if (errno != EINTR)
			c->failed = true;
	}
	memset(text, 0, sizeof text); /* it may contain a password */
}

static int
try_address(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol), on = 1;

	if (fd < 0)
		return -1;
	if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

int
wire_connect(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int error = getaddrinfo(host, port, &hints, &list), fd = -1;

	if (error != 0) {
		fprintf(stderr, "chatc: cannot resolve %s: %s\n", host, gai_strerror(error));
		return -1;
	}
	for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
		fd = try_address(a);
	if (fd < 0)
		fprintf(stderr, "chatc: cannot connect to %s port %s: %s\n", host, port, strerror(errno));
	freeaddrinfo(list);
	return fd;
}

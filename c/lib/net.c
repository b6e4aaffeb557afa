#include "net.h"

#include "slice.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#ifdef __FreeBSD__
#include <sys/filio.h>
#endif

enum { BACKLOG = 4096 };

bool
net_parse(const char *text, char host[NET_HOST_MAX + 1], uint16_t *port)
{
	const char *colon = strrchr(text, ':');
	unsigned long long n;
	struct slice name;

	if (colon == NULL || !slice_number(slice_of(colon + 1), UINT16_MAX, &n) || n == 0)
		return false;
	name = slice_between(text, colon);
	if (name.length >= 2 && name.at[0] == '[' && name.at[name.length - 1] == ']')
		name = (struct slice){ name.at + 1, name.length - 2 };
	else if (slice_has(name, ':'))
		return false;
	*port = (uint16_t)n;
	return name.length > 0 && slice_copy(name, host, NET_HOST_MAX + 1);
}

static socklen_t
resolve(const char *host, uint16_t port, struct sockaddr_storage *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		memcpy(address, &v4, sizeof v4);
		return sizeof v4;
	}
	if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(address, &v6, sizeof v6);
		return sizeof v6;
	}
	return 0;
}

int
net_listen(const char *host, uint16_t port)
{
	struct sockaddr_storage address;
	socklen_t length = resolve(host, port, &address);
	int on = 1, off = 0, fd;

	if (length == 0) {
		errno = EINVAL;
		return -1;
	}
	fd = socket(address.ss_family, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	/* the default differs between systems; without this option only IPv6 is served */
	if (address.ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, BACKLOG) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

void
net_nodelay(int fd)
{
	int on = 1;

	/* fails only if the peer has reset the connection, which the next read reports */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

uint64_t
net_unacknowledged(int fd)
{
	int n = 0;

#if defined(TIOCOUTQ) && defined(__linux__)
	if (ioctl(fd, TIOCOUTQ, &n) != 0) /* SIOCOUTQ of tcp(7), which not every C library names */
		return 0;
#elif defined(FIONWRITE)
	if (ioctl(fd, FIONWRITE, &n) != 0)
		return 0;
#else
	(void)fd;
#endif
	return n > 0 ? (uint64_t)n : 0;
}

/* Gets the IPv4 address of an IPv4 or IPv4-mapped address. */
static bool
is_v4(const struct sockaddr *address, struct in_addr *v4)
{
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_in6 *in6 = (const void *)address;

	if (address->sa_family == AF_INET) {
		*v4 = in->sin_addr;
		return true;
	}
	if (address->sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return false;
	memcpy(v4, in6->sin6_addr.s6_addr + 12, sizeof *v4);
	return true;
}

void
net_peer(const struct sockaddr *address, char host[NET_HOST_MAX + 1])
{
	const struct sockaddr_in6 *in6 = (const void *)address;
	char text[INET6_ADDRSTRLEN];
	struct in_addr v4;
	const char *fine;

	if (is_v4(address, &v4))
		fine = inet_ntop(AF_INET, &v4, text, sizeof text);
	else
		fine = address->sa_family == AF_INET6 ? inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text) : NULL;
	snprintf(host, NET_HOST_MAX + 1, "%s%s", fine != NULL && text[0] == ':' ? "0" : "", fine != NULL ? text : "unknown");
}

/* Writes the network of the first bytes of an IPv6 address, any other text unchanged. */
static void
first_bytes(const char *host, size_t bytes, char network[NET_HOST_MAX + 1])
{
	struct in6_addr in6;
	char text[INET6_ADDRSTRLEN];

	snprintf(network, NET_HOST_MAX + 1, "%s", host);
	if (inet_pton(AF_INET6, host, &in6) != 1)
		return;
	memset(in6.s6_addr + bytes, 0, sizeof in6.s6_addr - bytes);
	if (inet_ntop(AF_INET6, &in6, text, sizeof text) != NULL)
		snprintf(network, NET_HOST_MAX + 1, "%s/%u", text, (unsigned)(8 * bytes));
}

void
net_network(const char *host, char network[NET_HOST_MAX + 1])
{
	first_bytes(host, 8, network);
}

void
net_customer(const char *network, char customer[NET_HOST_MAX + 1])
{
	char host[NET_HOST_MAX + 1];

	snprintf(host, sizeof host, "%.*s", (int)strcspn(network, "/"), network);
	first_bytes(host, 6, customer);
}

bool
net_is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *in6 = (const void *)address;
	struct in_addr v4;

	if (is_v4(address, &v4))
		return ntohl(v4.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* Addresses and listening sockets. */
#ifndef NET_H
#define NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { NET_HOST_MAX = 63 };

/* Parts "HOST:PORT" or "[HOST]:PORT"; false when it is neither, or the port is none. */
bool net_parse(const char *text, char host[NET_HOST_MAX + 1], uint16_t *port);

/* Listens on a numeric address; -1 and errno, EINVAL when the host is no address. "::" takes IPv4
 * too, on every system. */
int net_listen(const char *host, uint16_t port);

/* Bytes go out as they are written. */
void net_nodelay(int fd);

/* The peer's address as text, fit for a line of IRC: it never begins with ':'. */
void net_peer(const struct sockaddr *address, char host[NET_HOST_MAX + 1]);

/* The network that an address, as net_peer writes it, is counted under: itself, or the first 64
 * bits of an IPv6 one, which one customer has. */
void net_network(const char *host, char network[NET_HOST_MAX + 1]);

/* The first 48 bits of an IPv6 network as net_network writes it: one customer may have all of it. */
void net_customer(const char *network, char customer[NET_HOST_MAX + 1]);

bool net_is_loopback(const struct sockaddr *address);

#endif

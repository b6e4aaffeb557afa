/* Addresses and listening sockets. */
#ifndef NET_H
#define NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { NET_HOST_MAX = 63 };

/* Splits "HOST:PORT" or "[HOST]:PORT". Returns false if text is neither, or the port is invalid. */
bool net_parse(const char *text, char host[NET_HOST_MAX + 1], uint16_t *port);

/* Listens on a numeric address. Returns -1 and sets errno, EINVAL if host is not an address. "::"
 * accepts IPv4, too, on every system. */
int net_listen(const char *host, uint16_t port);

/* Sends written bytes at once (TCP_NODELAY). */
void net_nodelay(int fd);

/* Returns how many of the bytes written to a connection the peer's system has not acknowledged; 0
 * where the system does not tell. */
uint64_t net_unacknowledged(int fd);

/* Writes the peer's address as text for a line of IRC: it never starts with ':'. */
void net_peer(const struct sockaddr *address, char host[NET_HOST_MAX + 1]);

/* Writes the network under which an address of net_peer is counted: an IPv4 address itself, or the
 * /64 of an IPv6 address. */
void net_network(const char *host, char network[NET_HOST_MAX + 1]);

/* Writes the /48 of an IPv6 network of net_network, which one customer may have; an IPv4 address as
 * it is. */
void net_customer(const char *network, char customer[NET_HOST_MAX + 1]);

bool net_is_loopback(const struct sockaddr *address);

#endif

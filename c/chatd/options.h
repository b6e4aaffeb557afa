/* The command line of chatd. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { LISTEN_HOST_MAX = 63 };

struct options {
	char host[LISTEN_HOST_MAX + 1]; /* numeric address */
	uint16_t port;
	const char *data;    /* data directory */
	const char *user;    /* user to change to if started as root; NULL: none */
	const char *name;    /* server name in replies */
	unsigned clients;    /* limit of connections */
	/* limit of connections from one address or /64 of IPv6, except loopback */
	unsigned per_host;
	unsigned flood;      /* lines per second that a client may send; 0: no limit */
	unsigned replay;     /* limit of lines replayed at a join */
	bool daemon;         /* run in the background and report to syslog */
	bool accounts_only;  /* only clients with an account */
	bool plain;          /* accept passwords in clear text from other machines */
	bool sandbox;        /* drop privileges that processes do not need */
};

/* Parses the command line. Ends the program after --help, and with EXIT_USAGE after an error. */
struct options options_parse(int argc, char **argv);

#endif

/* What chatd was told on its command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { LISTEN_HOST_MAX = 63 };

struct options {
	char host[LISTEN_HOST_MAX + 1]; /* a numeric address */
	uint16_t port;
	const char *data;    /* the folder of the server's data */
	const char *user;    /* to become, when started as root; NULL: stay */
	const char *name;    /* of the server, as clients see it */
	unsigned clients;    /* at once */
	/* at once from one address, or 64 bits of an IPv6 one, other than loopback */
	unsigned per_host;
	unsigned flood;      /* lines a second that a client may send for long; 0: no limit */
	unsigned replay;     /* lines that a client is shown on joining, at most */
	bool daemon;         /* in the background, reporting to syslog */
	bool accounts_only;  /* nobody without an account */
	bool plain;          /* passwords in clear are taken from other machines too */
	bool sandbox;        /* processes give up what they do not need */
};

/* Ends the program after --help, and with EXIT_USAGE when args are wrong. */
struct options options_parse(int argc, char **argv);

#endif

/* The command line that every subject understands. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { HOST_MAX = 64 }; /* room for any numeric address */

struct options {
	char host[HOST_MAX]; /* numeric, without brackets */
	uint16_t port;       /* at least 1 */
	bool echo;           /* send the bytes back instead of writing them to standard output */
	uint32_t size;       /* bytes of a message, at least 1 */
	/* microseconds to compute for each message, before it is handled; 0: none */
	uint32_t work_us;
	uint32_t wait_ms;    /* milliseconds to wait for each message, before it is handled; 0: none */
};

/* Parses argv. Dies with EXIT_USAGE and one line if it is wrong. */
struct options options_parse(int argc, char **argv);

#endif

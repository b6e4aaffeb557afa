/* The command line that every subject understands. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { HOST_MAX = 64 }; /* room for any numeric address */

struct options {
	char host[HOST_MAX]; /* numeric, without brackets */
	uint16_t port;       /* at least 1 */
	bool echo;           /* send the bytes back instead of printing them */
	uint32_t size;       /* bytes a message, at least 1 */
	uint32_t work_us;    /* microseconds to burn for each message */
	uint32_t wait_ms;    /* milliseconds to wait for each message */
};

/* Parses argv. Dies with EXIT_USAGE and one line if it is wrong. */
struct options options_parse(int argc, char **argv);

#endif

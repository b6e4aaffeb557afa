/* The time of day in milliseconds since 1970, UTC. */
#ifndef CLOCK_H
#define CLOCK_H

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_TEXT = 24 }; /* bytes of "2026-11-21T11:30:00.123Z" */

uint64_t clock_now(void);

/* Returns the milliseconds of a monotonic clock. */
uint64_t clock_steady(void);

/* Writes CLOCK_TEXT bytes and a NUL. Years beyond 9999 become the last moment of 9999. */
void clock_text(uint64_t ms, char to[CLOCK_TEXT + 1]);

/* Parses the format of clock_text, and no other. */
bool clock_parse(struct slice text, uint64_t *ms);

#endif

/* The time of day as logs have it: milliseconds since 1970, UTC. */
#ifndef CLOCK_H
#define CLOCK_H

#include "slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_TEXT = 24 }; /* bytes of "2026-11-21T11:30:00.123Z" */

uint64_t clock_now(void);

/* Milliseconds that only go on, from some moment. */
uint64_t clock_steady(void);

/* Writes CLOCK_TEXT bytes and a NUL; years beyond 9999 are written as 9999's last moment. */
void clock_text(uint64_t ms, char to[CLOCK_TEXT + 1]);

/* Reads what clock_text writes, nothing else. */
bool clock_parse(struct slice text, uint64_t *ms);

#endif

/* KEEPER: one process a server. It writes read marks in the background, and ends who is banned
 * while it is there. */
#ifndef KEEPER_H
#define KEEPER_H

#include "table.h"

_Noreturn void keeper_run(struct table *t, int data);

#endif

/* KEEPER: one process for the whole server. It stores read markers in the background and
 * disconnects banned clients. */
#ifndef KEEPER_H
#define KEEPER_H

#include "table.h"

_Noreturn void keeper_run(struct table *t, int data);

#endif

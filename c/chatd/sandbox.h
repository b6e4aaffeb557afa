/*
 * What a process gives up for good once it has all it needs. On Linux a filter of system calls (seccomp), on
 * OpenBSD pledge, on FreeBSD capability mode; elsewhere nothing. A system that refuses is reported once.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>

/* Whether the functions below do anything: not under a debugger of memory or an emulator, which
 * need more. */
void sandbox_use(bool use);

/* RECV: the connection, and files below folders that are open. No new connection, no other program. */
void sandbox_recv(void);

/* SEND: the same, and no file is written. */
void sandbox_send(void);

/* KEEPER: files below folders that are open, as RECV. */
void sandbox_keeper(void);

#endif

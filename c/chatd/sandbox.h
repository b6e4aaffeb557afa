/*
 * Dropping privileges for good after the start. On Linux by a system-call filter (seccomp), on
 * OpenBSD by pledge, on FreeBSD by capability mode; elsewhere not at all. A failure is reported
 * once.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stdbool.h>

/* Enables the functions below. Memory debuggers and emulators need more system calls. */
void sandbox_use(bool use);

/* RECV: the connection, and files in open folders. No new connection, no other program. */
void sandbox_recv(void);

/* SEND: as RECV, and no file is written. */
void sandbox_send(void);

/* KEEPER: files in open folders, as RECV. */
void sandbox_keeper(void);

#endif

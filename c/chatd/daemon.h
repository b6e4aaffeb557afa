/* Becoming somebody else, and going into the background. */
#ifndef DAEMON_H
#define DAEMON_H

/* Gives a folder to the user, when we are root and there is one; NULL: nothing is done. */
void daemon_give(const char *folder, const char *user);

/* Becomes user for good, when we are root; ends the program when that fails. NULL: stays who we
 * are. */
void daemon_drop(const char *user);

/* Goes on in a process of the background; the one that was started waits for daemon_ready, then
 * ends with 0, or with EXIT_TROUBLE. */
void daemon_begin(void);

/* Tells the process that was started that all is well. From now on reports go to syslog. */
void daemon_ready(void);

#endif

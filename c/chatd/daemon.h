/* Changing the user, and running in the background. */
#ifndef DAEMON_H
#define DAEMON_H

/* Changes the owner of a folder to user, if the process is root and user is not NULL. */
void daemon_give(const char *folder, const char *user);

/* Changes to user permanently, if the process is root and user is not NULL; ends the program if
 * that fails. */
void daemon_drop(const char *user);

/* Continues in a background process. The original process waits for daemon_ready and exits with 0,
 * or with EXIT_TROUBLE. */
void daemon_begin(void);

/* Notifies the original process of the successful start, and redirects reports to syslog. */
void daemon_ready(void);

#endif

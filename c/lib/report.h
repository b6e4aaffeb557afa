/* Messages for the operator: one line each to standard error, or to syslog for a daemon. They never
 * contain texts of users. */
#ifndef REPORT_H
#define REPORT_H

enum {
	EXIT_TROUBLE = 1, /* system error: port in use, no memory, … */
	EXIT_USAGE = 2,   /* invalid command line */
};

/* Sets the name before each line, from argv[0]. */
void report_as(const char *program);

/* Redirects all further messages to syslog, as LOG_DAEMON. */
void report_to_syslog(void);

/* Reports a problem that the process survives. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a problem that the process does not survive, and ends it with EXIT_TROUBLE. */
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports an invalid command line on standard error, and ends with EXIT_USAGE. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

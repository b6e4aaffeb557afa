/* What a process has to say to whoever runs it: a line to standard error, or to syslog for a
 * daemon. Never a message's text. */
#ifndef REPORT_H
#define REPORT_H

enum {
	EXIT_TROUBLE = 1, /* the machine says no: port in use, no memory, … */
	EXIT_USAGE = 2,   /* the caller says it wrongly */
};

/* The name that lines begin with, from argv[0]. */
void report_as(const char *program);

/* From now on to syslog, as LOG_DAEMON. */
void report_to_syslog(void);

/* Something that a person should know, and that the process goes on after. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What leaves no way to go on: ends this process with EXIT_TROUBLE. */
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the caller said wrongly: always to standard error, ends with EXIT_USAGE. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

/* The exit of a program that cannot continue. */
#ifndef DIE_H
#define DIE_H

enum {
	EXIT_TROUBLE = 1, /* the machine says no: port in use, no memory, … */
	EXIT_USAGE = 2,   /* the caller says it wrongly */
};

/* Prints one line "PROGRAM: message" to standard error and exits with status. */
_Noreturn void die(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The program name for die; set once, first in main, from argv[0]. */
void die_as(const char *program);

#endif

/* Checks print the failure and end the program; the last line counts those that passed. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

/* Ends the program with the sentence if so is false. */
void check(bool so, const char *sentence, ...) __attribute__((format(printf, 2, 3)));

enum { FOLDER_BYTES = 64 };

/* Creates an empty folder in TMPDIR or /tmp, and writes its path. The caller removes it. */
void check_folder(char dir[FOLDER_BYTES]);

/* Returns the number of checks that passed so far. */
unsigned checks_passed(void);

#endif

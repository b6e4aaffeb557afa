/* A check prints what is wrong and ends the program; the last line counts those that passed. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

/* Dies with the sentence when it isn't so. */
void check(bool so, const char *sentence, ...) __attribute__((format(printf, 2, 3)));

enum { FOLDER_BYTES = 64 };

/* Makes an empty folder below TMPDIR, or /tmp, and writes its path. Its remover is the caller. */
void check_folder(char dir[FOLDER_BYTES]);

/* Checks that passed so far. */
unsigned checks_passed(void);

#endif

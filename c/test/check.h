/* Checks print the failure and end the program; the last line counts those that passed. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

/* If so is false, prints the sentence and ends the program. The sentence says what must hold, and
 * what was seen where a value is at hand. A macro: its arguments are evaluated after so, and may
 * use values that so has set, such as errno. */
#define check(so, ...) ((so) ? check_passed() : check_failed(__VA_ARGS__))

void check_passed(void);
_Noreturn void check_failed(const char *sentence, ...) __attribute__((format(printf, 1, 2)));

enum { FOLDER_BYTES = 64 };

/* Creates an empty folder in TMPDIR or /tmp, and writes its path. The caller removes it. */
void check_folder(char dir[FOLDER_BYTES]);

/* Returns the number of checks that passed so far. */
unsigned checks_passed(void);

#endif

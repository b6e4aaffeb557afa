/* Tests of c/lib and of what chatd's processes share, a function for each part; each ends the
 * program at the first thing that is wrong. */
#ifndef UNIT_H
#define UNIT_H

void test_text(void);
void test_crypto(void);
void test_accounts(const char *vectors);
void test_log(const char *vectors);
void test_log_processes(void);
void test_shared(void);

#endif

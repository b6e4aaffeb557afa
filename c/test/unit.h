/* Tests of c/lib and of chatd's shared memory, one function for each part. Each ends the program at
 * the first failure. */
#ifndef UNIT_H
#define UNIT_H

void test_text(void);
void test_crypto(void);
void test_accounts(const char *vectors);
void test_log(const char *vectors);
void test_refused(void);
void test_padding(void);
void test_log_processes(void);
void test_shared(void);

#endif

/* The tests of chatd, one function each. Each starts a server and its clients, and stops them. */
#ifndef TALK_H
#define TALK_H

extern const char *chatd, *chatc;       /* paths of the programs */
extern const char *const *arguments;    /* further arguments of every chatd */

/* talk_basic.c */
void test_talk(void);
void test_burst(void);
void test_hostile(void);
void test_everybody(void);
void test_limits(void);

/* talk_history.c */
void test_history(void);
void test_marks(void);
void test_topic(void);
void test_direct(void);

/* talk_bans.c */
void test_bans(void);
void test_marks_of_the_killed(void);

/* talk_marks.c */
void test_in_flight_elsewhere(void);
void test_in_flight_before_part(void);
void test_unreadable_log(void);
void test_names_order(void);

/* talk_login.c */
void test_login(void);
void test_guessing(void);
void test_scram_login(void);
void test_client(void);

/* talk_process.c */
void test_slow_reader(void);
void test_death(void);
void test_stop(void);
void test_crash(void);
void test_second_server(void);
void test_daemon(void);

#endif

/*
 * chatd as its clients find it: real sockets, real processes.
 *
 *	talk CHATD CHATC [ARGUMENT...]: the arguments go to every chatd
 */
#include "check.h"
#include "clock.h"
#include "talk.h"

#include <signal.h>
#include <stdio.h>

static const struct { const char *name; void (*run)(void); } tests[] = {
	{ "talk", test_talk }, { "burst", test_burst }, { "hostile", test_hostile }, { "everybody", test_everybody }, { "limits", test_limits },
	{ "names order", test_names_order },
	{ "history", test_history }, { "marks", test_marks }, { "topic", test_topic }, { "direct", test_direct },
	{ "bans", test_bans }, { "marks of the killed", test_marks_of_the_killed },
	{ "in flight elsewhere", test_in_flight_elsewhere }, { "in flight before PART", test_in_flight_before_part },
	{ "unreadable log", test_unreadable_log },
	{ "login", test_login }, { "guessing", test_guessing }, { "scram", test_scram_login }, { "slow reader", test_slow_reader },
	{ "death", test_death }, { "stop", test_stop }, { "crash", test_crash }, { "second server", test_second_server }, { "daemon", test_daemon }, { "client", test_client },
};

const char *chatd, *chatc;
const char *const *arguments;

int
main(int argc, char **argv)
{
	check(argc >= 3, "the arguments are the programs chatd and chatc");
	chatd = argv[1];
	chatc = argv[2];
	arguments = (const char *const *)argv + 3;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		uint64_t began = clock_steady();

		tests[i].run();
		fprintf(stderr, "%s: %llu ms\n", tests[i].name, (unsigned long long)(clock_steady() - began));
	}
	printf("%u\n", checks_passed());
	return 0;
}

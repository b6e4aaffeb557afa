/* Read markers of a device whose messages were in flight: written, but not acknowledged. */
#include "check.h"
#include "server.h"
#include "talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than the receive buffer of a narrow peer holds, less than the send buffer of the server. */
enum { MESSAGES = 100 };

static struct server s;
static struct peer ann, again, bob;

static void
log_in(struct peer *p)
{
	peer_say(p, "PASS :ann@phone:long password");
	peer_say(p, "NICK ann");
	peer_say(p, "USER x 0 * :x");
	peer_expect(p, " 422 ");
	peer_say(p, "JOIN #room");
}

static void
begin(void)
{
	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_start(&s, arguments);
	peer_join(&bob, &s, "bob", "", "#room");
	peer_connect_narrow(&ann, &s);
	log_in(&ann);
	peer_expect(&ann, " 366 ");
	peer_say(&bob, "PRIVMSG #room :seen");
	peer_expect(&ann, ":seen");
	peer_acknowledge(&ann);
}

static void
end(void)
{
	peer_close(&again);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

static void
fill(void)
{
	char text[400];

	memset(text, 'x', sizeof text);
	for (int i = 0; i < MESSAGES; i++)
		peer_say(&bob, "PRIVMSG #room :%d %.*s", i, (int)sizeof text, text);
	peer_sync(&bob);
}

static void
expect_last(struct peer *p, const char *other)
{
	char last[32];

	snprintf(last, sizeof last, "] %d ", MESSAGES - 1);
	peer_expect_without(p, last, other);
	peer_expect(p, " 366 ");
}

/* A device that connects again while its old connection is still there is replayed what was in
 * flight on that, and not what that has just acknowledged. */
void
test_in_flight_elsewhere(void)
{
	begin();
	peer_connect(&again, &s);
	log_in(&again);
	peer_expect_without(&again, " 366 ", "seen");
	peer_close(&again);
	fill();
	peer_connect(&again, &s);
	log_in(&again);
	expect_last(&again, "seen");
	peer_close(&ann);
	end();
}

/* A client that has left a room and joins it again is replayed what was in flight when it left, if
 * the connection has broken meanwhile, and not on the same connection. */
void
test_in_flight_before_part(void)
{
	begin();
	peer_say(&bob, "JOIN #other"); /* bob sees there that ann's session ends */
	peer_expect(&bob, " 366 ");
	peer_say(&ann, "JOIN #other");
	peer_expect(&ann, " 366 ");
	fill();
	peer_say(&ann, "PART #room");
	peer_expect(&bob, " PART ");
	peer_close(&ann); /* a reset, because not everything was read */
	peer_expect(&bob, " QUIT ");
	peer_connect(&again, &s);
	log_in(&again);
	expect_last(&again, "PART");
	peer_say(&again, "PART #room");
	peer_say(&again, "JOIN #room");
	peer_expect(&again, " PART ");
	peer_expect_without(&again, " 366 ", "] ");
	end();
}

/* Runs a command in the folder of the room's log. */
static void
in_room(const char *command)
{
	char text[512];

	snprintf(text, sizeof text, "cd %s/rooms/*room && %s", s.data, command);
	check(system(text) == 0, "the test can change the log: %s", text);
}

/* A replay whose log could not be read does not count as received, nor do the messages after it:
 * the device is replayed all of them later. */
void
test_unreadable_log(void)
{
	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_start(&s, arguments);
	peer_join(&bob, &s, "bob", "", "#room");
	peer_say(&bob, "PRIVMSG #room :one");
	peer_sync(&bob);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	in_room(": >$(printf %020d.log $(wc -c <00000000000000000000.log))"); /* a second segment */
	server_start(&s, arguments);
	peer_join(&bob, &s, "bob", "", "#room");
	in_room("mv 00000000000000000000.log kept && mkdir 00000000000000000000.log");
	peer_connect(&ann, &s);
	log_in(&ann);
	peer_expect_without(&ann, "NOTICE * :Messages of #room that you missed could not be read", "one");
	peer_expect(&ann, " 366 ");
	peer_say(&bob, "PRIVMSG #room :two");
	peer_expect(&ann, ":two");
	peer_say(&ann, "QUIT");
	peer_expect_end(&ann);
	peer_close(&ann);
	in_room("rmdir 00000000000000000000.log && mv kept 00000000000000000000.log");
	peer_connect(&again, &s);
	log_in(&again);
	peer_expect_without(&again, "] one", "two");
	peer_expect(&again, "] two");
	peer_expect(&again, " 366 ");
	end();
}

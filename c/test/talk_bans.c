#include "check.h"
#include "clock.h"
#include "server.h"
#include "talk.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server s;
static struct peer ann, bob, eve;

static void
put_bans(const char *text)
{
	char path[128], new_path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/bans", s.data);
	snprintf(new_path, sizeof new_path, "%s/.bans.tmp", s.data);
	f = fopen(new_path, "w");
	check(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0 && rename(new_path, path) == 0, "the test can replace the file \"bans\"");
}

static void
log_in(struct peer *p, const char *login, const char *nick)
{
	peer_connect(p, &s);
	peer_say(p, "PASS :%s:long password", login);
	peer_say(p, "NICK %s", nick);
	peer_say(p, "USER x 0 * :x");
}

static void
expect_refused(const char *bans, const char *login, const char *nick, const char *why)
{
	put_bans(bans);
	log_in(&eve, login, nick);
	peer_expect(&eve, " 465 ");
	check(strstr(eve.line, why) != NULL, "ERR_YOUREBANNEDCREEP (465) contains the reason \"%s\"; got \"%s\"", why, eve.line);
	peer_expect_end(&eve);
	peer_close(&eve);
}

/* A banned client is rejected, whichever server wrote the ban. A connected client is disconnected
 * within a moment. */
void
test_bans(void)
{
	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_account(&s, "Eve", "long password");
	server_start(&s, arguments);
	expect_refused("# of people\neve by=ann reason=no%20more\n", "EVE", "eve", "no more");
	expect_refused("127.0.0.0/8 reason=machine\n", "eve", "eve", "machine");
	expect_refused("eve!*@*.account\n", "eve", "eve", "banned");
	put_bans("eve until=2020-01-01T00:00:00Z reason=over\nann until=never\n10.0.0.0/8\n::/1\nev?\n*!*@elsewhere\n");
	log_in(&eve, "eve", "eve");
	peer_expect(&eve, " 001 ");
	log_in(&ann, "ann", "ann");
	peer_expect(&ann, " 001 ");
	peer_say(&ann, "JOIN #room");
	peer_expect(&ann, " 366 ");
	peer_say(&eve, "JOIN #room");
	peer_expect(&eve, " 366 ");
	put_bans("EVE reason=enough until=2999-01-01T00:00:00Z\n");
	peer_expect(&ann, " QUIT :Banned: enough");
	peer_expect(&eve, "ERROR :Closing link: Banned: enough");
	peer_expect_end(&eve);
	peer_close(&eve);
	put_bans("evil*!*@*\n");
	log_in(&eve, "eve", "eve");
	peer_expect(&eve, " 001 ");
	peer_say(&eve, "NICK evileve");
	peer_expect(&eve, " 432 eve evileve :This nickname is banned");
	peer_close(&eve);
	peer_close(&ann);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* Reports whether ann's file of read markers has one at offset or beyond. */
static bool
marked(unsigned long long offset)
{
	char path[128], line[256];
	unsigned long long n;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "%s/marks/ann", s.data);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		found = found || (sscanf(line, "%*s %*s %llu", &n) == 1 && n >= offset);
	if (f != NULL)
		fclose(f);
	return found;
}

/* A server that is killed with all its processes has stored its read markers a moment before, so
 * that it replays nothing twice. */
void
test_marks_of_the_killed(void)
{
	uint64_t end = clock_steady() + WAIT_LIMIT_MS;
	unsigned long long offset;

	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_start(&s, arguments);
	peer_join(&bob, &s, "bob", "", "#room");
	log_in(&ann, "ann@phone", "ann");
	peer_expect(&ann, " 001 ");
	peer_say(&ann, "CAP REQ message-tags");
	peer_say(&ann, "JOIN #room");
	peer_expect(&ann, " 366 ");
	peer_say(&bob, "PRIVMSG #room :before");
	peer_say(&bob, "PRIVMSG #room :then");
	peer_expect(&ann, ":then");
	offset = strtoull(strstr(ann.line, "msgid=") + 6 + 9, NULL, 10);
	while (!marked(offset + 1)) {
		check(clock_steady() < end, "the read marker is stored within %d ms, while the clients stay connected", WAIT_LIMIT_MS);
		poll(NULL, 0, 10);
	}
	server_kill(&s);
	peer_expect_end(&ann);
	peer_expect_end(&bob);
	peer_close(&ann);
	peer_close(&bob);
	server_start(&s, arguments);
	peer_join(&bob, &s, "bob", "", "#room");
	peer_say(&bob, "PRIVMSG #room :after");
	peer_sync(&bob);
	log_in(&ann, "ann@phone", "ann");
	peer_expect(&ann, " 001 ");
	peer_say(&ann, "JOIN #room");
	peer_expect_without(&ann, "] after", "then");
	peer_close(&ann);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

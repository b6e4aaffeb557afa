#include "check.h"
#include "server.h"
#include "talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server s;
static struct peer ann, bob, eve;

void
test_talk(void)
{
	server_make(&s, chatd);
	server_start(&s, arguments);
	peer_join(&ann, &s, "ann", "", "#room");
	peer_join(&bob, &s, "bob", "message-tags server-time echo-message account-tag", "#Room");
	peer_expect(&ann, ":bob!~bob@" GUEST " JOIN #room");
	peer_say(&ann, "PRIVMSG #room :hello bob");
	peer_expect(&bob, ":ann!~ann@" GUEST " PRIVMSG #room :hello bob");
	check(strncmp(bob.line, "@time=20", 8) == 0 && strstr(bob.line, ";msgid=") != NULL && strstr(bob.line, "weir/") == NULL, "a client with message-tags and server-time receives time and msgid, and no tag weir/...; got \"%s\"", bob.line);
	peer_say(&ann, "PING done");
	peer_expect_without(&ann, "PONG", "hello bob");
	peer_say(&bob, "@+draft/reply=x;secret=y PRIVMSG #room :hello ann");
	peer_say(&bob, "PING done");
	peer_expect_without(&bob, "hello ann", "PONG");
	check(strstr(bob.line, "+draft/reply=x") != NULL && strstr(bob.line, "secret") == NULL, "a client-only tag (+draft/reply) is delivered, another client's tag is not; got \"%s\"", bob.line);
	peer_expect(&bob, "PONG");
	peer_expect(&ann, "hello ann");
	check(strcmp(ann.line, ":bob!~bob@" GUEST " PRIVMSG #room :hello ann") == 0, "a client without capabilities receives no tags; got \"%s\"", ann.line);
	peer_say(&bob, "@+typing=active TAGMSG #room");
	peer_say(&bob, "NICK robert");
	peer_expect_without(&ann, ":bob!~bob@" GUEST " NICK robert", "TAGMSG");
	peer_say(&ann, "NAMES #room");
	peer_expect(&ann, " 353 ann = #room :");
	check(strstr(ann.line, "ann") != NULL && strstr(ann.line, "robert") != NULL, "NAMES lists both members, ann and robert; got \"%s\"", ann.line);
	peer_say(&bob, "PART #room :bye");
	peer_expect(&ann, ":robert!~bob@" GUEST " PART #room :bye");
	peer_say(&bob, "PRIVMSG #room :from outside");
	peer_expect(&bob, " 404 ");
	peer_say(&bob, "PRIVMSG ann :just you");
	peer_expect_without(&ann, "PRIVMSG ann :just you", "from outside");
	peer_say(&bob, "QUIT :tired");
	peer_expect(&bob, "ERROR :Closing link: Quit: tired");
	peer_expect_end(&bob);
	peer_close(&ann);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* In the published server the tail of a burst waited for the next message: one read for each
 * signal, and signals merge. */
void
test_burst(void)
{
	enum { LINES = 190, TEXT = 100 };
	char burst[LINES * (TEXT + 32)], want[32];
	size_t n = 0;

	server_make(&s, chatd);
	server_start(&s, arguments);
	peer_join(&ann, &s, "ann", "", "#room");
	peer_join(&bob, &s, "bob", "", "#room");
	for (int i = 0; i < LINES; i++)
		n += (size_t)sprintf(burst + n, "PRIVMSG #room :%03d %0*d\r\n", i, TEXT - 4, 0);
	peer_send(&ann, burst, n);
	for (int i = 0; i < LINES; i++) {
		snprintf(want, sizeof want, "PRIVMSG #room :%03d ", i);
		peer_expect_without(&bob, want, "404");
	}
	peer_sync(&ann);
	peer_close(&ann);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* In the published server a NUL sent heap bytes to other clients. A line with a NUL is ignored as a
 * whole; other lines of the client are not affected. */
void
test_hostile(void)
{
	static const char nul[] = "PRIVMSG #room :be\0fore\r\nPRIVMSG #room :after\r\n";
	char junk[3000], *large = malloc(100000);
	unsigned seed = 1;

	server_make(&s, chatd);
	server_start(&s, arguments);
	peer_join(&ann, &s, "ann", "", "#room");
	peer_join(&eve, &s, "eve", "message-tags", "#room");
	peer_send(&eve, nul, sizeof nul - 1);
	peer_expect(&eve, "FAIL * INVALID_LINE");
	peer_expect_without(&ann, "PRIVMSG #room :after", "be");
	peer_send(&eve, "PRIVMSG #room :\xff\xfe\r\n", 19);
	peer_expect(&eve, "FAIL * INVALID_UTF8");
	memset(large, 'x', 100000);
	peer_send(&eve, large, 100000);
	peer_expect(&eve, " 417 ");
	peer_say(&eve, "%s", "");
	peer_say(&eve, "PRIVMSG #room :still here");
	peer_expect_without(&ann, "still here", "xxxx");
	for (const char *at = "PRIVMSG #room :byte by byte\r\n"; *at != '\0'; at++)
		peer_send(&eve, at, 1);
	peer_expect(&ann, "PRIVMSG #room :byte by byte");
	peer_say(&eve, "JOIN #../../etc,#,#a\x01,%s", "#ok");
	peer_expect(&eve, " 366 eve #ok");
	peer_say(&eve, "JOIN :");
	peer_say(&eve, "PRIVMSG ,,,#room,, :");
	peer_say(&eve, "CHATHISTORY LATEST");
	peer_say(&eve, "CHATHISTORY LATEST #room msgid=x 99999999999999999999");
	peer_say(&eve, "TOPIC #room :%0600d", 0);
	peer_say(&eve, "NICK %0400d", 0);
	peer_say(&eve, "CAP REQ :%0400d", 0);
	peer_say(&eve, "@a PRIVMSG #room");
	peer_sync(&eve);
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; i < sizeof junk; i++)
			junk[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
		peer_send(&eve, junk, sizeof junk);
	}
	peer_say(&ann, "PRIVMSG #room :hello");
	peer_sync(&ann);
	peer_close(&eve);
	peer_close(&ann);
	free(large);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

enum { MEMBERS = 16, MESSAGES = 25 };

static struct peer members[MEMBERS];

/* Reads the messages that a member receives from the others, in order: sender * MESSAGES +
 * number. */
static void
listen_to_all(int member, int heard[MEMBERS * MESSAGES])
{
	int next[MEMBERS] = { 0 }, n = 0, who, number;

	while (n < MEMBERS * MESSAGES) {
		peer_expect(&members[member], "PRIVMSG #room :");
		check(sscanf(strstr(members[member].line, "#room :"), "#room :%d %d", &who, &number) == 2, "a message contains its sender's number and its own, as sent; got \"%s\"", members[member].line);
		check(number == next[who], "member %d receives message %d of member %d next; got message %d", member, next[who], who, number);
		next[who]++;
		heard[n++] = who * MESSAGES + number;
	}
}

/* In the published server, with 16 clients, 3 to 12 messages were lost and as many duplicated. Here
 * each client receives all, each once, in one order. */
void
test_everybody(void)
{
	static int first[MEMBERS * MESSAGES], other[MEMBERS * MESSAGES];
	char nick[16];

	server_make(&s, chatd);
	server_start(&s, arguments);
	for (int i = 0; i < MEMBERS; i++) {
		snprintf(nick, sizeof nick, "m%d", i);
		peer_join(&members[i], &s, nick, "echo-message", "#room");
	}
	for (int k = 0; k < MESSAGES; k++)
		for (int i = 0; i < MEMBERS; i++)
			peer_say(&members[i], "PRIVMSG #room :%d %d", i, k);
	listen_to_all(0, first);
	for (int i = 1; i < MEMBERS; i++) {
		listen_to_all(i, other);
		check(memcmp(first, other, sizeof first) == 0, "member %d receives the messages in the same order as member 0", i);
	}
	for (int i = 0; i < MEMBERS; i++)
		peer_close(&members[i]);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

void
test_limits(void)
{
	const char *few[] = { "--clients", "2", "--flood", "30", NULL, NULL };

	few[4] = arguments[0];
	server_make(&s, chatd);
	server_start(&s, few);
	peer_connect(&ann, &s);
	peer_connect(&bob, &s);
	peer_sync(&ann);
	peer_sync(&bob);
	peer_connect(&eve, &s);
	peer_expect(&eve, "ERROR :The server is full");
	peer_expect_end(&eve);
	for (int i = 0; i < 150; i++) /* beyond the burst: processed later, not lost */
		peer_say(&bob, "PING %d", i);
	peer_expect(&bob, "PONG weir :149");
	peer_say(&bob, "PRIVMSG #room :x");
	peer_expect(&bob, " 451 ");
	peer_close(&ann);
	peer_close(&bob);
	peer_close(&eve);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* A list of names has the members that its place among the JOINs and PARTs says. */
void
test_names_order(void)
{
	enum { ROUNDS = 400, LISTS = 3 };
	bool in = true;

	server_make(&s, chatd);
	server_start(&s, arguments);
	peer_join(&bob, &s, "bob", "", "#room");
	peer_join(&ann, &s, "ann", "", "#room");
	peer_expect(&bob, ":ann!");
	for (int i = 0; i < ROUNDS; i++) {
		peer_say(&ann, "PART #room\r\nJOIN #room");
		peer_say(&bob, "NAMES #room\r\nNAMES #room\r\nNAMES #room");
		for (int lists = 0; lists < LISTS; lists += strstr(bob.line, " 366 ") != NULL) {
			check(peer_line(&bob), "NAMES is answered before the connection ends");
			if (strncmp(bob.line, ":ann!", 5) == 0)
				in = strstr(bob.line, " JOIN ") != NULL;
			if (strstr(bob.line, " 353 ") != NULL)
				check((strstr(bob.line, "ann") != NULL) == in, "after ann's %s, NAMES lists her accordingly; got \"%s\"", in ? "JOIN" : "PART", bob.line);
		}
		peer_expect(&ann, " 366 ");
	}
	peer_close(&ann);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

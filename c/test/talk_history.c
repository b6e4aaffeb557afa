#include "check.h"
#include "server.h"
#include "talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct server s;
static struct peer ann, bob;

/* In the published server a new member got the last 7 lines. Here it gets all messages, also those
 * of an earlier server process. */
void
test_history(void)
{
	enum { LINES = 300 };
	char want[64], msgid[64];

	server_make(&s, chatd);
	server_start(&s, arguments);
	peer_join(&ann, &s, "ann", "", "#room");
	for (int i = 0; i < LINES; i++)
		peer_say(&ann, "PRIVMSG #room :number %d", i);
	peer_sync(&ann);
	peer_close(&ann);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_start(&s, arguments);

	peer_register(&bob, &s, "bob", "server-time batch");
	peer_say(&bob, "JOIN #room");
	peer_expect_without(&bob, "BATCH +h1 chathistory #room", " 353 ");
	for (int i = 0; i < LINES; i++) {
		check(peer_line(&bob), "message %d of %d is replayed before the connection ends", i, LINES);
		snprintf(want, sizeof want, "PRIVMSG #room :number %d", i);
		check(strncmp(bob.line, "@batch=h1;time=", 15) == 0 && strstr(bob.line, want) != NULL, "message %d is replayed in the batch, with its time and the text \"%s\"; got \"%s\"", i, want, bob.line);
	}
	check(peer_line(&bob) && strcmp(bob.line, "BATCH -h1") == 0, "BATCH -h1 follows the last message; got \"%s\"", bob.line);
	peer_expect(&bob, " 353 ");
	peer_close(&bob);

	peer_register(&bob, &s, "bob2", "server-time message-tags batch draft/chathistory");
	peer_say(&bob, "JOIN #room");
	peer_expect_without(&bob, " 366 ", "BATCH");
	peer_say(&bob, "CHATHISTORY LATEST #room * 3");
	peer_expect(&bob, "BATCH +h1 chathistory #room");
	peer_line(&bob);
	check(strstr(bob.line, ":number 297") != NULL, "CHATHISTORY LATEST with limit 3 begins with the third newest message, number 297; got \"%s\"", bob.line);
	snprintf(msgid, sizeof msgid, "%.40s", strstr(bob.line, "msgid=") + 6);
	msgid[strcspn(msgid, "; ")] = '\0';
	peer_expect(&bob, ":number 299");
	peer_expect(&bob, "BATCH -h1");
	peer_say(&bob, "CHATHISTORY LATEST #room msgid=%s 100", msgid);
	peer_expect_without(&bob, ":number 298", ":number 297");
	peer_expect(&bob, "BATCH -h2");
	peer_say(&bob, "CHATHISTORY LATEST #room timestamp=2999-01-01T00:00:00.000Z 100");
	peer_expect_without(&bob, "BATCH -h3", "PRIVMSG");
	peer_say(&bob, "CHATHISTORY LATEST #elsewhere * 100");
	peer_expect(&bob, "FAIL CHATHISTORY INVALID_TARGET LATEST #elsewhere");
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

static void
log_in(struct peer *p, const char *login, const char *nick)
{
	peer_connect(p, &s);
	peer_say(p, "PASS :%s:long password", login);
	peer_say(p, "NICK %s", nick);
	peer_say(p, "USER x 0 * :x");
	peer_expect(p, " 422 ");
}

/* Each device of an account is replayed what it was not sent, and no more. */
void
test_marks(void)
{
	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_start(&s, arguments);
	peer_join(&bob, &s, "bob", "", "#room");
	peer_say(&bob, "PRIVMSG #room :one");
	peer_sync(&bob);
	log_in(&ann, "ann@phone", "ann");
	peer_say(&ann, "JOIN #room");
	peer_expect(&ann, "] one");
	peer_expect(&ann, " 366 ");
	peer_say(&bob, "PRIVMSG #room :two");
	peer_expect(&ann, "PRIVMSG #room :two");
	peer_say(&ann, "QUIT");
	peer_expect_end(&ann);
	peer_expect(&bob, "QUIT");
	peer_say(&bob, "PRIVMSG #room :three");
	peer_sync(&bob);
	peer_close(&ann);

	log_in(&ann, "ann@phone", "ann");
	peer_say(&ann, "JOIN #room");
	peer_expect_without(&ann, "] three", "two");
	peer_expect(&ann, " 366 ");
	peer_close(&ann);
	log_in(&ann, "ann@desk", "ann");
	peer_say(&ann, "JOIN #room");
	peer_expect(&ann, "] one");
	peer_expect(&ann, "] three");
	peer_close(&ann);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

static void
put_state(const char *room, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/rooms", s.data);
	snprintf(path, sizeof path, "mkdir -p %s/rooms/%s", s.data, room);
	check(system(path) == 0, "the test can create a room's folder");
	snprintf(path, sizeof path, "%s/rooms/%s/state", s.data, room);
	f = fopen(path, "w");
	check(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "the test can write a room's file \"state\"");
}

/* The room's state file is enforced: joining, speaking, operators, visibility, the spelling of the
 * name. */
static void
modes(void)
{
	static struct peer carl, dora;

	log_in(&carl, "carl", "carl");
	peer_say(&ann, "JOIN #quiet");
	peer_expect(&ann, "JOIN #Quiet");
	peer_expect(&ann, " 332 ann #Quiet :hush");
	peer_expect(&ann, " 333 ann #Quiet carl!~c@carl.account 1763730001");
	peer_say(&ann, "PRIVMSG #quiet :may I?");
	peer_expect(&ann, " 404 ann #quiet :Cannot send to channel (+m)");
	peer_say(&bob, "JOIN #quiet");
	peer_expect(&bob, " 474 ");
	peer_say(&bob, "NAMES #quiet");
	peer_expect_without(&bob, " 366 ", " 353 ");
	peer_say(&bob, "LIST");
	peer_expect_without(&bob, " 323 ", "#Quiet");
	log_in(&dora, "dora", "dora");
	peer_say(&dora, "JOIN #QUIET");
	peer_expect(&dora, " 366 ");
	peer_say(&dora, "PRIVMSG #quiet :I may");
	peer_expect(&ann, ":dora!~x@dora.account PRIVMSG #Quiet :I may");
	peer_say(&carl, "JOIN #quiet"); /* an operator may join a full room */
	peer_expect(&carl, " 353 carl = #Quiet :");
	check(strstr(carl.line, "@carl") != NULL && strstr(carl.line, "+dora") != NULL && strstr(carl.line, "ann") != NULL, "NAMES shows @carl, +dora and ann without a prefix; got \"%s\"", carl.line);
	peer_say(&bob, "NICK rob");
	peer_expect(&bob, "NICK rob");
	peer_say(&bob, "JOIN #quiet");
	peer_expect(&bob, " 471 ");
	peer_say(&carl, "MODE #quiet");
	peer_expect(&carl, " 324 carl #Quiet +mnsl 2");
	peer_say(&carl, "MODE #quiet b");
	peer_expect(&carl, " 367 carl #Quiet bob!*@* carl 1763730000");
	peer_say(&carl, "TOPIC #quiet :louder");
	peer_expect(&ann, "TOPIC #Quiet :louder");
	peer_sync(&carl);
	peer_close(&carl);
	peer_close(&dora);
}

/* A change that the disk refuses takes no effect: other members do not receive it, and neither log
 * nor state contains it. */
static void
refused_topic(void)
{
	char in_the_way[256];

	snprintf(in_the_way, sizeof in_the_way, "%s/rooms/#room/state.new", s.data);
	check(mkdir(in_the_way, 0700) == 0, "the test can create a folder where the server would create the new state file");
	peer_say(&ann, "TOPIC #room :what is not stored");
	peer_expect_without(&ann, "FAIL TOPIC TEMPORARILY_UNAVAILABLE #room :It was not stored", "ann TOPIC");
	peer_say(&bob, "TOPIC #room");
	peer_expect_without(&bob, " 332 bob #room :what we talk about", "what is not stored");
	check(rmdir(in_the_way) == 0, "the folder that prevented the state file is empty and can be removed");
	peer_say(&ann, "PART #room");
	peer_say(&ann, "JOIN #room");
	peer_expect_without(&ann, " 366 ", "what is not stored");
}

/* Topics are stored like messages and survive a restart. Modes that another server has set are
 * enforced. */
void
test_topic(void)
{
	server_make(&s, chatd);
	put_state("#locked", ":op MODE #Locked +kt sesame\r\n:op MODE #Locked +o carl\r\n:op TOPIC #Locked :old topic\r\n");
	put_state("#private", ":op MODE #private +i\r\n");
	put_state("#quiet", ":weir CREATED #Quiet 1763730000\r\n:weir MODE #Quiet +mnsl 2\r\n:weir MODE #Quiet +o Carl\r\n:weir MODE #Quiet +v dora\r\n"
	    ":carl MODE #Quiet +b bob!*@* 1763730000\r\n:carl!~c@carl.account TOPIC #Quiet :hush\r\n:weir 333 #Quiet carl!~c@carl.account 1763730001\r\n");
	server_account(&s, "carl", "long password");
	server_account(&s, "Dora", "long password");
	server_start(&s, arguments);
	peer_join(&ann, &s, "ann", "", "#room");
	peer_join(&bob, &s, "bob", "", "#room");
	peer_say(&ann, "TOPIC #room :what we talk about");
	peer_expect(&ann, ":ann!~ann@" GUEST " TOPIC #room :what we talk about");
	peer_expect(&bob, ":ann!~ann@" GUEST " TOPIC #room :what we talk about");
	refused_topic();
	peer_say(&ann, "JOIN #locked");
	peer_expect(&ann, " 475 ");
	peer_say(&ann, "JOIN #private");
	peer_expect(&ann, " 473 ");
	peer_say(&ann, "JOIN #locked sesame");
	peer_expect(&ann, " 332 ann #Locked :old topic");
	peer_say(&ann, "TOPIC #locked :mine");
	peer_expect(&ann, " 482 ");
	modes();
	peer_close(&ann);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_start(&s, arguments);
	peer_register(&ann, &s, "ann", "");
	peer_say(&ann, "JOIN #room");
	peer_expect(&ann, " 332 ann #room :what we talk about");
	peer_say(&ann, "JOIN #quiet");
	peer_expect(&ann, " 332 ann #Quiet :louder");
	peer_expect(&ann, " 333 ann #Quiet carl!~x@carl.account ");
	peer_close(&ann);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

static void
comes_back(struct peer *p, const char *login, const char *caps)
{
	peer_connect(p, &s);
	peer_say(p, "CAP REQ :%s", caps);
	peer_say(p, "PASS :%s:long password", login);
	peer_say(p, "NICK bob");
	peer_say(p, "USER x 0 * :x");
	peer_say(p, "CAP END");
	peer_expect(p, " 422 ");
}

/* A user that was away is replayed its direct messages, once for each device, whichever server
 * stored them. A client with chathistory requests them. */
static void
missed_direct(void)
{
	peer_say(&bob, "QUIT");
	peer_expect_end(&bob);
	peer_close(&bob);
	peer_say(&ann, "PRIVMSG BOB :are you there?");
	peer_sync(&ann);
	comes_back(&bob, "bob", "batch"); /* ann's session has the conversation open */
	peer_expect(&bob, "BATCH +h1 chathistory ann");
	check(peer_line(&bob) && strstr(bob.line, "@batch=h1 :ann!~x@ann.account PRIVMSG Bob :[") != NULL && strstr(bob.line, "] are you there?") != NULL, "on joining, Bob is replayed the direct message that he missed, in a batch with its time in the text; got \"%s\"", bob.line);
	peer_expect(&bob, "BATCH -h1");
	peer_say(&ann, "PRIVMSG bob :there you are");
	peer_expect(&bob, ":there you are");
	peer_say(&bob, "QUIT");
	peer_expect_end(&bob);
	peer_close(&bob);
	peer_say(&ann, "PRIVMSG bob :gone again");
	peer_sync(&ann);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_start(&s, arguments);
	comes_back(&bob, "bob", "batch"); /* no session has the conversation open */
	peer_expect_without(&bob, "] gone again", "there you are");
	peer_sync(&bob);
	peer_say(&bob, "QUIT");
	peer_expect_end(&bob);
	peer_close(&bob);
	comes_back(&bob, "bob", "batch");
	peer_say(&bob, "PING quiet");
	peer_expect_without(&bob, "PONG", "PRIVMSG");
	peer_close(&bob);
	comes_back(&bob, "bob@new", "batch");
	peer_expect(&bob, "] psst");
	peer_expect(&bob, "] gone again");
	peer_close(&bob);
	comes_back(&bob, "bob", "batch draft/chathistory message-tags");
	peer_say(&bob, "CHATHISTORY LATEST Ann * 2");
	peer_expect_without(&bob, "BATCH +h1 chathistory Ann", "PRIVMSG");
	peer_expect_without(&bob, "] there you are", "are you there?");
	peer_expect(&bob, "BATCH -h1");
	peer_say(&bob, "CHATHISTORY LATEST carl * 2");
	peer_expect(&bob, "FAIL CHATHISTORY INVALID_TARGET");
}

/* Direct messages of two accounts are stored, and every session of both receives them. */
void
test_direct(void)
{
	static struct peer desk;
	char path[128];
	FILE *f;

	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_account(&s, "Bob", "long password");
	server_start(&s, arguments);
	log_in(&ann, "ann@phone", "ann");
	log_in(&desk, "ann@desk", "ann");
	log_in(&bob, "bob", "bob");
	peer_say(&ann, "PRIVMSG bob :psst");
	peer_expect(&bob, ":ann!~x@ann.account PRIVMSG bob :psst");
	peer_expect(&desk, ":ann!~x@ann.account PRIVMSG bob :psst");
	peer_say(&bob, "PRIVMSG ann :yes?");
	peer_expect(&ann, ":bob!~x@bob.account PRIVMSG ann :yes?");
	peer_expect(&desk, ":bob!~x@bob.account PRIVMSG ann :yes?");
	snprintf(path, sizeof path, "%s/direct/ann,bob/00000000000000000000.log", s.data);
	f = fopen(path, "r");
	check(f != NULL && fread(path, 1, 10, f) == 10 && memcmp(path, "@weir/sum=", 10) == 0, "a direct message of ann and bob is stored in the log direct/ann,bob");
	fclose(f);
	peer_say(&ann, "PRIVMSG nobody :psst");
	peer_expect(&ann, " 401 ");
	missed_direct();
	peer_close(&ann);
	peer_close(&bob);
	peer_close(&desk);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

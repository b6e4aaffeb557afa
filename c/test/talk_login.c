#include "base64.h"
#include "check.h"
#include "server.h"
#include "sha256.h"
#include "slice.h"
#include "talk.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct server s;
static struct peer ann, bob;

static void
begin_login(struct peer *p, const char *nick, const char *mechanism)
{
	peer_connect(p, &s);
	peer_say(p, "CAP LS 302");
	peer_say(p, "CAP REQ sasl");
	peer_expect(p, " ACK ");
	peer_say(p, "NICK %s", nick);
	peer_say(p, "USER %s 0 * :%s", nick, nick);
	peer_say(p, "AUTHENTICATE %s", mechanism);
	peer_expect(p, "AUTHENTICATE +");
}

static void
plain(struct peer *p, const char *login, const char *password)
{
	char message[256], text[BASE64_LENGTH(sizeof message) + 1];
	int n = snprintf(message, sizeof message, "%c%s%c%s", 0, login, 0, password);

	base64_encode(message, (size_t)n, text);
	peer_say(p, "AUTHENTICATE %s", text);
}

/* In the published server the key was rejected if it arrived in two segments, and could be read on
 * the network. */
void
test_login(void)
{
	static const char split[] = "PASS :ann@phone:long password\r\nNICK ann\r\nUSER ann 0 * :ann\r\n";

	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_start(&s, arguments);
	peer_connect(&ann, &s);
	for (const char *at = split; *at != '\0'; at++)
		peer_send(&ann, at, 1);
	peer_expect(&ann, " 001 ann ");
	begin_login(&bob, "ann", "PLAIN");
	plain(&bob, "ann@desk", "long password");
	peer_expect(&bob, " 900 ");
	peer_expect(&bob, " 903 ");
	peer_say(&bob, "CAP END");
	peer_expect(&bob, " 001 ann ");
	peer_close(&bob);
	begin_login(&bob, "eve", "PLAIN");
	plain(&bob, "ann", "wrong password");
	peer_expect(&bob, " 904 ");
	peer_say(&bob, "AUTHENTICATE PLAIN");
	peer_expect(&bob, "AUTHENTICATE +");
	plain(&bob, "nobody", "wrong password");
	peer_expect(&bob, " 904 ");
	peer_say(&bob, "AUTHENTICATE EXTERNAL");
	peer_expect(&bob, " 908 ");
	peer_say(&bob, "NICK ann");
	peer_say(&bob, "CAP END");
	peer_expect(&bob, " 433 "); /* an account's name is reserved for its sessions */
	peer_say(&bob, "NICK eve");
	peer_expect(&bob, " 001 eve ");
	peer_say(&bob, "NICK Ann");
	peer_expect(&bob, " 433 ");
	peer_close(&bob);
	peer_connect(&bob, &s);
	peer_say(&bob, "PASS ann:wrong");
	peer_say(&bob, "NICK x");
	peer_say(&bob, "USER x 0 * :x");
	peer_expect(&bob, " 464 ");
	peer_expect(&bob, "ERROR");
	peer_expect_end(&bob);
	peer_close(&ann);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

/* After fifty wrong passwords for a name the right one is rejected, too, with the reason, and so is
 * PASS. Another name is not affected. */
void
test_guessing(void)
{
	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_account(&s, "bob", "long password");
	server_start(&s, arguments);
	for (int i = 0; i < 50; i++) {
		if (i % 5 == 0)
			begin_login(&bob, "eve", "PLAIN");
		else
			peer_say(&bob, "AUTHENTICATE PLAIN");
		plain(&bob, "ann", "\x80"); /* invalid as a password: it is not even hashed */
		peer_expect_without(&bob, " 904 ", "too many");
		if (i % 5 == 4)
			peer_close(&bob);
	}
	begin_login(&bob, "eve", "PLAIN");
	plain(&bob, "Ann@desk", "long password");
	peer_expect(&bob, " 904 ");
	check(strstr(bob.line, "too many attempts, try again in ") != NULL, "after too many wrong passwords the 904 gives the reason and the wait; got \"%s\"", bob.line);
	peer_say(&bob, "AUTHENTICATE PLAIN");
	peer_expect(&bob, "AUTHENTICATE +");
	plain(&bob, "bob", "long password");
	peer_expect(&bob, " 903 ");
	peer_close(&bob);
	peer_connect(&bob, &s);
	peer_say(&bob, "PASS ann:long password");
	peer_say(&bob, "NICK x");
	peer_say(&bob, "USER x 0 * :x");
	peer_expect(&bob, " 464 ");
	check(strstr(bob.line, "too many attempts") != NULL, "after too many wrong passwords the 464 of PASS gives the reason; got \"%s\"", bob.line);
	peer_close(&bob);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

struct program {
	pid_t pid;
	int in, out;
	char text[8192];
	size_t length;
};

/* Runs the client with pipes instead of a terminal. */
static void
run_client(struct program *p, const char *const *args)
{
	int in[2], out[2];

	check(pipe(in) == 0 && pipe(out) == 0, "the test can create two pipes");
	p->pid = fork();
	if (p->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execv(chatc, (char *const *)(uintptr_t)args);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
	p->length = 0;
}

static void
client_shows(struct program *p, const char *want)
{
	struct pollfd in = { .fd = p->out, .events = POLLIN };
	ssize_t n;

	p->text[p->length] = '\0';
	while (strstr(p->text, want) == NULL) {
		check(poll(&in, 1, WAIT_LIMIT_MS) > 0, "chatc shows \"%s\" within %d ms; so far it showed: %s", want, WAIT_LIMIT_MS, p->text);
		n = read(p->out, p->text + p->length, sizeof p->text - 1 - p->length);
		check(n > 0, "chatc runs until it shows \"%s\"; it showed: %s", want, p->text);
		p->length += (size_t)n;
		p->text[p->length] = '\0';
	}
}

static void
type(struct program *p, const char *text)
{
	check(write(p->in, text, strlen(text)) == (ssize_t)strlen(text), "chatc reads its input: \"%s\" can be written to it", text);
}

static void
client_ends(struct program *p, int status)
{
	int got;

	check(waitpid(p->pid, &got, 0) == p->pid && WIFEXITED(got) && WEXITSTATUS(got) == status, "chatc exits with status %d; got the wait status %d", status, got);
	close(p->in);
	close(p->out);
}

static const char *
password_file(const char *password)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/password", s.data);
	f = fopen(path, "w");
	check(f != NULL && fprintf(f, "%s\n", password) > 0 && fclose(f) == 0, "the test can write the file with the password");
	return path;
}

/* Our client's SCRAM with our server's; each is tested against the RFC elsewhere. */
void
test_scram_login(void)
{
	struct program p;
	char port[16];

	server_make(&s, chatd);
	server_account(&s, "ann", "long password");
	server_start(&s, arguments);
	snprintf(port, sizeof port, "127.0.0.1:%u", (unsigned)s.port);
	run_client(&p, (const char *const[]){ chatc, "--account", "ann@phone", "--password-file", password_file("long password"), port, "#room", NULL });
	client_shows(&p, "* You are now logged in as ann");
	client_shows(&p, "* connected to 127.0.0.1 as ann");
	type(&p, "/quit\n");
	client_ends(&p, 0);
	run_client(&p, (const char *const[]){ chatc, "--account", "ann", "--password-file", password_file("wrong password"), port, NULL });
	client_ends(&p, 1);
	run_client(&p, (const char *const[]){ chatc, "--account", "nobody", "--password-file", password_file("wrong password"), port, NULL });
	client_ends(&p, 1);
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	server_remove(&s);
}

void
test_client(void)
{
	struct program p;
	char port[16];

	server_make(&s, chatd);
	server_start(&s, arguments);
	snprintf(port, sizeof port, "127.0.0.1:%u", (unsigned)s.port);
	peer_join(&bob, &s, "bob", "", "#room");
	peer_say(&bob, "PRIVMSG #room :said before");
	peer_sync(&bob);
	run_client(&p, (const char *const[]){ chatc, "--nick", "ann", port, "#room", NULL });
	client_shows(&p, "#room <bob> said before");
	client_shows(&p, "* in #room: ");
	type(&p, "hello bob\n/me waves\n/names\n");
	peer_expect(&bob, ":ann!~ann@" GUEST " PRIVMSG #room :hello bob");
	peer_expect(&bob, "\001ACTION waves\001");
	client_shows(&p, "#room <ann> hello bob");
	client_shows(&p, "#room * ann waves");
	peer_say(&bob, "PRIVMSG ann :\033[2Jboo\007");
	client_shows(&p, "ann <bob> ?[2Jboo?");
	peer_say(&bob, "QUIT :good night");
	client_shows(&p, "* bob has quit: Quit: good night");
	type(&p, "/quit bye\n");
	client_ends(&p, 0);
	peer_close(&bob);
	run_client(&p, (const char *const[]){ chatc, "--nick", "ann", port, NULL });
	client_shows(&p, "* connected");
	check(server_stop(&s) == 0, "after SIGTERM the server exits with status 0");
	client_ends(&p, 1);
	server_remove(&s);
}

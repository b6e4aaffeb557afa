/* The shared memory of chatd's processes: locks, mail, the table. */
#include "unit.h"

#include "check.h"
#include "feed.h"
#include "guess.h"
#include "lock.h"
#include "mail.h"
#include "sandbox.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

static void *
shared_memory(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED, "mmap gives memory that the processes share");
	return at;
}

static void
test_lock(void)
{
	struct lock *l = shared_memory(sizeof *l);
	pid_t pid;

	lock_init(l);
	pid = fork();
	if (pid == 0) {
		lock_take(l);
		kill(getpid(), SIGKILL);
	}
	check(waitpid(pid, NULL, 0) == pid, "the child process exits while it holds the lock");
	check(lock_take(l), "lock_take returns true to the first process after the holder died");
	lock_release(l);
	check(!lock_take(l), "lock_take returns false after a normal release");
	lock_release(l);
	munmap(l, sizeof *l);
}

/* Texts of every length pass through the ring in order, wherever it wraps. */
static void
test_mail(void)
{
	struct mail *m = shared_memory(sizeof *m);
	static char text[MAIL_TEXT_MAX + 1];
	struct slice got;
	const struct mail_item *item;
	unsigned written = 0, read = 0;

	mail_init(m);
	check(mail_next(m, &got) == NULL, "a new mailbox is empty");
	memset(text, 'x', sizeof text);
	while (read < 3000) {
		while (mail_write(m, &(struct mail_item){ .type = MAIL_TEXT, .count = written }, (struct slice){ text, written * 7 % 2000 }, MAIL_BYTES))
			written++;
		for (int i = 0; i < 3 && (item = mail_next(m, &got)) != NULL; i++) {
			check(item->count == read && got.length == read * 7 % 2000 && item->type == MAIL_TEXT, "item %u is read as it was written: its count, type and length; got count %u, length %zu", read, (unsigned)item->count, got.length);
			read++;
			mail_done(m);
		}
	}
	while (mail_next(m, &got) != NULL)
		mail_done(m);
	check(!mail_write(m, &(struct mail_item){ .type = MAIL_TEXT }, (struct slice){ text, MAIL_TEXT_MAX + 1 }, MAIL_BYTES), "mail_write refuses a text longer than MAIL_TEXT_MAX, %d bytes", (int)MAIL_TEXT_MAX);
	while (mail_write(m, &(struct mail_item){ .type = MAIL_TEXT }, (struct slice){ text, 100 }, MAIL_OTHERS))
		continue;
	check(mail_has_room(m, 0, MAIL_BYTES), "a mailbox that other clients have filled has room for the client's own items");
	munmap(m, sizeof *m);
}

static void
test_feed(void)
{
	struct feed f = { .used = true };

	check(feed_own(&f, 10, 20) && feed_own(&f, 20, 30) && f.owns == 1, "two adjacent ranges of own messages become one; got %u", (unsigned)f.owns);
	check(feed_own(&f, 50, 60), "feed_own accepts a second, separate range");
	check(!feed_is_own(&f, 0) && feed_is_own(&f, 10) && feed_is_own(&f, 25) && !feed_is_own(&f, 30) && feed_is_own(&f, 50) && !feed_is_own(&f, 60), "feed_is_own is true from 10 to 29 and from 50 to 59, and false at 0, 30 and 60");
	check(f.owns == 0, "ranges before the last offset asked for are removed; got %u", (unsigned)f.owns);
	for (uint64_t i = 0; i < OWN_MAX; i++)
		check(feed_own(&f, 100 + 10 * i, 101 + 10 * i), "feed_own accepts OWN_MAX ranges; got range %llu refused", (unsigned long long)i);
	check(!feed_own(&f, 5000, 5001), "feed_own refuses a range beyond OWN_MAX, %d", (int)OWN_MAX);
}

static unsigned
count_mail(struct table *t, unsigned session)
{
	struct slice text;
	unsigned n = 0;

	while (mail_next(&t->boxes[session].mail, &text) != NULL) {
		n++;
		mail_done(&t->boxes[session].mail);
	}
	return n;
}

static void
test_table(void)
{
	enum { SESSIONS = 3 };
	struct table *t = table_make(SESSIONS);
	struct room *r = &t->rooms[0];

	for (int i = 0; i < SESSIONS; i++) {
		check(session_claim(t, "127.0.0.1") == i, "session_claim gives the sessions in order, %d next", i);
		snprintf(t->sessions[i].nick, sizeof t->sessions[i].nick, "nick%d", i);
		t->sessions[i].registered = true;
	}
	check(session_claim(t, "127.0.0.1") < 0, "session_claim returns a negative number when all sessions are in use");
	r->used = true;
	snprintf(r->name, sizeof r->name, "#Room");
	check(room_empty(r) && room_find(t, slice_of("#rOOM")) == 0 && room_find(t, slice_of("#other")) < 0, "room_find finds #Room by #rOOM, and does not find #other");
	for (unsigned i = 0; i < SESSIONS; i++)
		room_set(r, i, true);
	atomic_store(&t->sessions[0].news, 1); /* as of a process that died before it posted wake */
	session_wake_again(&t->sessions[0]);
	check(sem_trywait(&t->sessions[0].wake) == 0, "session_wake_again wakes a session that another process has died waking");
	atomic_store(&t->sessions[0].news, 0);
	session_leave(t, 1, slice_of("gone"));
	check(!room_has(r, 1) && room_has(r, 0) && room_has(r, 2), "session_leave removes the session from its rooms, and no other");
	check(count_mail(t, 0) == 2 && count_mail(t, 2) == 2 && count_mail(t, 1) == 0, "session_leave sends one QUIT to each other member");
	session_leave(t, 1, slice_of("gone"));
	check(count_mail(t, 0) == 0, "a second session_leave sends no QUIT");
	session_free(t, 1);
	check(session_claim(t, "::1") == 1 && t->sessions[1].nick[0] == '\0', "session_claim gives a freed session again, without its former nick");
	session_free(t, 0);
	session_free(t, 2);
	check(!r->used, "a room without members is freed");
	munmap(t, sizeof *t);
}

static unsigned
fail(struct guesses *g, const char *name, const char *network, unsigned times, uint64_t now)
{
	struct login l = { .name = "" };

	snprintf(l.name, sizeof l.name, "%s", name);
	snprintf(l.network, sizeof l.network, "%s", network);
	for (unsigned i = 0; i < times; i++)
		if (guess_wait(g, &l, now) == 0)
			guess_failed(g, &l, now);
	return guess_wait(g, &l, now);
}

static void
test_guesses(void)
{
	static struct guesses g;
	struct login owner = { .name = "ann", .network = "192.0.2.9" };
	char name[16], network[32];

	guess_right(&g, &owner, 1000);
	check(fail(&g, "ann", "192.0.2.1", 19, 1000) == 0, "19 failed logins from one network cause no wait");
	check(fail(&g, "ann", "192.0.2.1", 1, 1000) == 6, "after 20 failed logins a network waits for 6 seconds");
	check(fail(&g, "bob", "192.0.2.1", 0, 1000) == 6, "the network's wait is the same for another name");
	check(fail(&g, "bob", "192.0.2.1", 0, 7000) == 0, "after 6 seconds the network may try one login");
	for (int i = 2; i < 5; i++) {
		snprintf(network, sizeof network, "192.0.2.%d", i);
		fail(&g, "ann", network, 20, 1000);
	}
	check(fail(&g, "ann", "192.0.2.8", 0, 1000) == 0, "after 50 failed logins to a name, a network that has not failed for it may try once");
	check(fail(&g, "ann", "192.0.2.8", 1, 1000) > 0, "after 50 failed logins to a name, a new network waits once it has failed for it");
	for (int i = 0; i < 50; i++) {
		snprintf(network, sizeof network, "198.51.100.%d", i);
		fail(&g, "ann", network, 1, 1000);
	}
	check(fail(&g, "ann", "192.0.2.7", 0, 1000) > 0, "after first tries from 50 new networks, a further new network waits too");
	check(fail(&g, "cat", "192.0.2.9", 20, 1000) > 0, "a network from which the owner logged in waits after 20 failed logins to another name");
	check(fail(&g, "ann", "192.0.2.9", 0, 1000) == 0, "a network from which the owner logged in does not wait for the owner's name");
	check(fail(&g, "bob", "192.0.2.8", 0, 1000) == 0, "failed logins to ann cause no wait for bob");
	check(fail(&g, "ivy", "", 50, 1000) > 0 && fail(&g, "ivy", "2001:db8:1:1::/64", 0, 1000) == 0, "after 50 failed logins to a name from loopback, an IPv6 network may try once");
	fail(&g, "ivy", "2001:db8:1:1::/64", 1, 1000);
	check(fail(&g, "ivy", "2001:db8:1:2::/64", 0, 1000) > 0 && fail(&g, "ivy", "2001:db8:2::/64", 0, 1000) == 0, "networks of one IPv6 /48 share one first try; another /48 has its own");
	check(fail(&g, "ann", "", 0, 1000) > 0, "loopback clients wait after 50 failed logins to a name");
	check(fail(&g, "eve", "", 49, 1000) == 0 && fail(&g, "eve", "", 1, 1000) == 6, "loopback clients wait after 50 failed logins to a name without an account");
	check(fail(&g, "eve", "", 0, 1000000) == 0, "failures expire: after 999 seconds there is no wait");
	for (int i = 0; i < 2 * GUESSES_MAX; i++) {
		snprintf(name, sizeof name, "n%d", i);
		fail(&g, name, "", 1, 2000000);
	}
	check(fail(&g, "last", "", 50, 2000000) == 6, "in a full table the entry that expires first is replaced: a new name is counted");
	for (uint64_t i = 0; i < 3 * KNOWN_EACH; i++) {
		snprintf(owner.network, sizeof owner.network, "10.0.0.%u", (unsigned)i);
		guess_right(&g, &owner, 3000000 + i);
	}
	fail(&g, "ann", "", 50, 4000000);
	check(fail(&g, "ann", "10.0.0.47", 0, 4000000) == 0 && fail(&g, "ann", "10.0.0.32", 0, 4000000) == 0, "the last %d networks from which the owner logged in do not wait", (int)KNOWN_EACH);
	check(fail(&g, "ann", "10.0.0.31", 1, 4000000) > 0, "networks before the last %d from which the owner logged in wait", (int)KNOWN_EACH);
}

/* The known networks of an account survive the server. */
static void
test_known(void)
{
	static struct guesses before, after;
	static const char want[] = "bob 2001:db8:1:2::/64\nann 192.0.2.9/32\n";
	static const char junk[] = "\nann\nann 192.0.2.7\nann 1 2/32\n averylongnamethatnoaccountcanhavebecauseitislongerthanall 192.0.2.7/32\n";
	struct login ann = { .name = "ann", .network = "192.0.2.9" }, bob = { .name = "bob", .network = "2001:db8:1:2::/64" }, here = { .name = "ann" };
	char dir[FOLDER_BYTES], text[256];
	ssize_t n;
	int data, fd;

	check_folder(dir);
	data = open(dir, O_RDONLY | O_DIRECTORY);
	known_read(&after, data);
	check(after.changes == 0, "without the file \"networks\" no network is known; got %u", after.changes);
	guess_right(&before, &bob, 1000);
	guess_right(&before, &ann, 2000);
	guess_right(&before, &here, 3000);
	check(known_write(&before, data), "known_write writes the file \"networks\"");
	fd = openat(data, "networks", O_RDWR);
	n = read(fd, text, sizeof text);
	check(n == (ssize_t)strlen(want) && memcmp(text, want, (size_t)n) == 0, "the file has a line for each network, the latest last:\n%sgot\n%.*s", want, (int)n, text);
	check(write(fd, junk, strlen(junk)) == (ssize_t)strlen(junk), "the test can append invalid lines to the file");
	close(fd);
	known_read(&after, data);
	check(after.changes == 2, "known_read reads two networks and skips invalid lines; got %u", after.changes);
	fail(&after, "ann", "192.0.2.1", 50, 1000);
	check(fail(&after, "ann", "192.0.2.9", 19, 1000) == 0 && fail(&after, "bob", "2001:db8:1:2::/64", 49, 1000) == 0, "after known_read, ann and bob do not wait on their known networks until those reach their own limits");
	check(unlinkat(data, "networks", 0) == 0, "the file \"networks\" can be removed");
	close(data);
	check(rmdir(dir) == 0, "known_write leaves no other file in the folder");
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
/* Runs in a child process. Returns which of two system calls the sandbox does not treat right; 0:
 * none. */
static int
try_sandbox(void (*confine)(void))
{
	int pair[2], n;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 1;
	confine();
	if (ioctl(pair[0], TIOCOUTQ, &n) != 0)
		return 2;
	return ioctl(pair[0], FIONREAD, &n) != 0 && errno == EPERM ? 0 : 3;
}

/* The sandbox allows the ioctl of net_unacknowledged, and no other. */
static void
test_sandbox(void)
{
	void (*const all[])(void) = { sandbox_recv, sandbox_send, sandbox_keeper };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			syscall(SYS_exit_group, try_sandbox(all[i])); /* before _exit a sanitizer does more */
		check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
		    "in the sandbox %zu, ioctl does TIOCOUTQ (else 2) and fails with EPERM for FIONREAD (else 3); got the wait status %#x", i, (unsigned)status);
	}
}
#else
static void
test_sandbox(void)
{
}
#endif

void
test_shared(void)
{
	test_lock();
	test_mail();
	test_feed();
	test_table();
	test_sandbox();
	test_guesses();
	test_known();
}

/* The shared memory of chatd's processes: locks, mail, the table. */
#include "unit.h"

#include "check.h"
#include "feed.h"
#include "guess.h"
#include "lock.h"
#include "mail.h"
#include "table.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *
shared_memory(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED, "there is shared memory");
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
	check(waitpid(pid, NULL, 0) == pid, "a process dies with the lock");
	check(lock_take(l), "who takes it next is told");
	lock_release(l);
	check(!lock_take(l), "and who comes then is not");
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
	check(mail_next(m, &got) == NULL, "a new one is empty");
	memset(text, 'x', sizeof text);
	while (read < 3000) {
		while (mail_write(m, &(struct mail_item){ .type = MAIL_TEXT, .count = written }, (struct slice){ text, written * 7 % 2000 }, MAIL_BYTES))
			written++;
		for (int i = 0; i < 3 && (item = mail_next(m, &got)) != NULL; i++) {
			check(item->count == read && got.length == read * 7 % 2000 && item->type == MAIL_TEXT, "item %u comes as it was written", read);
			read++;
			mail_done(m);
		}
	}
	while (mail_next(m, &got) != NULL)
		mail_done(m);
	check(!mail_write(m, &(struct mail_item){ .type = MAIL_TEXT }, (struct slice){ text, MAIL_TEXT_MAX + 1 }, MAIL_BYTES), "what is too long is refused");
	while (mail_write(m, &(struct mail_item){ .type = MAIL_TEXT }, (struct slice){ text, 100 }, MAIL_OTHERS))
		continue;
	check(mail_has_room(m, 0, MAIL_BYTES), "what others may not fill is left for the client's own");
	munmap(m, sizeof *m);
}

static void
test_feed(void)
{
	struct feed f = { .used = true };

	check(feed_own(&f, 10, 20) && feed_own(&f, 20, 30) && f.owns == 1, "ranges that touch are one");
	check(feed_own(&f, 50, 60), "others are two");
	check(!feed_is_own(&f, 0) && feed_is_own(&f, 10) && feed_is_own(&f, 25) && !feed_is_own(&f, 30) && feed_is_own(&f, 50) && !feed_is_own(&f, 60), "what is in them is own");
	check(f.owns == 0, "what was passed is forgotten");
	for (uint64_t i = 0; i < OWN_MAX; i++)
		check(feed_own(&f, 100 + 10 * i, 101 + 10 * i), "there is room for many");
	check(!feed_own(&f, 5000, 5001), "but not for all");
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
		check(session_claim(t, "127.0.0.1") == i, "places are given in order");
		snprintf(t->sessions[i].nick, sizeof t->sessions[i].nick, "nick%d", i);
		t->sessions[i].registered = true;
	}
	check(session_claim(t, "127.0.0.1") < 0, "until there are none");
	r->used = true;
	snprintf(r->name, sizeof r->name, "#Room");
	check(room_empty(r) && room_find(t, slice_of("#rOOM")) == 0 && room_find(t, slice_of("#other")) < 0, "a room is found, in whatever case");
	for (unsigned i = 0; i < SESSIONS; i++)
		room_set(r, i, true);
	session_leave(t, 1, slice_of("gone"));
	check(!room_has(r, 1) && room_has(r, 0) && room_has(r, 2), "who leaves is in no room");
	check(count_mail(t, 0) == 2 && count_mail(t, 2) == 2 && count_mail(t, 1) == 0, "the others are told once");
	session_leave(t, 1, slice_of("gone"));
	check(count_mail(t, 0) == 0, "and not again");
	session_free(t, 1);
	check(session_claim(t, "::1") == 1 && t->sessions[1].nick[0] == '\0', "its place is given again, clean");
	session_free(t, 0);
	session_free(t, 2);
	check(!r->used, "a room that everybody left is forgotten");
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
	check(fail(&g, "ann", "192.0.2.1", 19, 1000) == 0, "19 logins of a network may fail");
	check(fail(&g, "ann", "192.0.2.1", 1, 1000) == 6, "after 20 it waits for six seconds");
	check(fail(&g, "bob", "192.0.2.1", 0, 1000) == 6, "whatever the name");
	check(fail(&g, "bob", "192.0.2.1", 0, 7000) == 0, "and then one may be tried");
	for (int i = 2; i < 5; i++) {
		snprintf(network, sizeof network, "192.0.2.%d", i);
		fail(&g, "ann", network, 20, 1000);
	}
	check(fail(&g, "ann", "192.0.2.8", 0, 1000) == 0, "after 50 of a name a network that has not failed for it may try");
	check(fail(&g, "ann", "192.0.2.8", 1, 1000) > 0, "but only once");
	for (int i = 0; i < 50; i++) {
		snprintf(network, sizeof network, "198.51.100.%d", i);
		fail(&g, "ann", network, 1, 1000);
	}
	check(fail(&g, "ann", "192.0.2.7", 0, 1000) > 0, "after 50 of these another network waits for it too");
	check(fail(&g, "cat", "192.0.2.9", 20, 1000) > 0, "a neighbour of the owner guesses at another name");
	check(fail(&g, "ann", "192.0.2.9", 0, 1000) == 0, "but not one from which the owner has logged in");
	check(fail(&g, "bob", "192.0.2.8", 0, 1000) == 0, "nor another name");
	check(fail(&g, "ivy", "", 50, 1000) > 0 && fail(&g, "ivy", "2001:db8:1:1::/64", 0, 1000) == 0, "an IPv6 network has a first try too");
	fail(&g, "ivy", "2001:db8:1:1::/64", 1, 1000);
	check(fail(&g, "ivy", "2001:db8:1:2::/64", 0, 1000) > 0 && fail(&g, "ivy", "2001:db8:2::/64", 0, 1000) == 0, "one for each /48");
	check(fail(&g, "ann", "", 0, 1000) > 0, "clients of this machine are bounded by name");
	check(fail(&g, "eve", "", 49, 1000) == 0 && fail(&g, "eve", "", 1, 1000) == 6, "so is one that nobody has");
	check(fail(&g, "eve", "", 0, 1000000) == 0, "it is forgotten");
	for (int i = 0; i < 2 * GUESSES_MAX; i++) {
		snprintf(name, sizeof name, "n%d", i);
		fail(&g, name, "", 1, 2000000);
	}
	check(fail(&g, "last", "", 50, 2000000) == 6, "with no place left the one that is forgotten soonest makes it");
	for (uint64_t i = 0; i < 3 * KNOWN_EACH; i++) {
		snprintf(owner.network, sizeof owner.network, "10.0.0.%u", (unsigned)i);
		guess_right(&g, &owner, 3000000 + i);
	}
	fail(&g, "ann", "", 50, 4000000);
	check(fail(&g, "ann", "10.0.0.47", 0, 4000000) == 0 && fail(&g, "ann", "10.0.0.32", 0, 4000000) == 0, "the last 16 networks of an account are known");
	check(fail(&g, "ann", "10.0.0.31", 1, 4000000) > 0, "and no others");
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
	check(after.changes == 0, "without a file no network is known");
	guess_right(&before, &bob, 1000);
	guess_right(&before, &ann, 2000);
	guess_right(&before, &here, 3000);
	check(known_write(&before, data), "the file is written");
	fd = openat(data, "networks", O_RDWR);
	n = read(fd, text, sizeof text);
	check(n == (ssize_t)strlen(want) && memcmp(text, want, (size_t)n) == 0, "the file has a line for each network, the latest last: %.*s", (int)n, text);
	check(write(fd, junk, strlen(junk)) == (ssize_t)strlen(junk), "there are lines that are none");
	close(fd);
	known_read(&after, data);
	check(after.changes == 2, "the next server knows two networks and not %u", after.changes);
	fail(&after, "ann", "192.0.2.1", 50, 1000);
	check(fail(&after, "ann", "192.0.2.9", 19, 1000) == 0 && fail(&after, "bob", "2001:db8:1:2::/64", 49, 1000) == 0, "and has limits of their own for them");
	check(unlinkat(data, "networks", 0) == 0, "the file is removed");
	close(data);
	check(rmdir(dir) == 0, "nothing is left beside it");
}

void
test_shared(void)
{
	test_lock();
	test_mail();
	test_feed();
	test_table();
	test_guesses();
	test_known();
}

/* Accounts and bans: both files against the golden vectors, and their syntax. */
#include "unit.h"

#include "account.h"
#include "ban.h"
#include "base64.h"
#include "check.h"
#include "clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERIFIER "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

static void
test_finding(void)
{
	char dir[FOLDER_BYTES], path[FOLDER_BYTES + 16];
	struct verifier v, again;
	struct account a;
	struct slice name;
	char device[33];
	int data;
	FILE *f;

	check_folder(dir);
	snprintf(path, sizeof path, "%s/accounts", dir);
	f = fopen(path, "w");
	check(f != NULL, "the test can write the file \"accounts\"");
	fprintf(f, "# comment\n\nann %s role=admin\nbob - removed=2026-11-20T08:00:00Z\n", VERIFIER);
	for (int i = 0; i < 300; i++)
		fprintf(f, "user%d %s\n", i, VERIFIER);
	fprintf(f, "Last\t%s", VERIFIER);
	fclose(f);
	data = open(dir, O_RDONLY | O_DIRECTORY);
	check(account_find(data, slice_of("ANN"), &a) && strcmp(a.name, "ann") == 0 && a.has_password, "account_find finds ann by the name ANN, with a password");
	check(!account_find(data, slice_of("bob"), &a), "account_find does not find bob, whose account was removed");
	check(account_find(data, slice_of("user299"), &a) && a.has_password, "account_find finds user299, far down in the file");
	check(account_find(data, slice_of("last"), &a) && a.has_password, "account_find finds the account on the last line, which has no line end");
	check(!account_find(data, slice_of("ann2"), &a) && !account_find(data, slice_of("#"), &a), "account_find finds neither ann2, which does not exist, nor the comment #");
	close(data);
	unlink(path);
	rmdir(dir);
	check(account_login(slice_of("ann@Phone"), &name, device, sizeof device) && strcmp(device, "phone") == 0 && slice_equal(name, slice_of("ann")), "account_login reads ann@Phone as the account ann on the device phone");
	check(account_login(slice_of("ann"), &name, device, sizeof device) && device[0] == '\0', "account_login reads ann as an account without a device; got the device \"%s\"", device);
	check(!account_login(slice_of("ann@"), &name, device, sizeof device) && !account_login(slice_of("a b"), &name, device, sizeof device), "account_login rejects an empty device (ann@) and a name with a space");
	account_decoy(slice_of("secret"), slice_of("Nobody"), &v);
	account_decoy(slice_of("secret"), slice_of("nobody"), &again);
	check(memcmp(v.salt, again.salt, v.salt_length) == 0, "an unknown name always gets the same salt, in upper or lower case");
}

/* The arguments of a line of "expect". */
struct vector {
	int data;
	struct slice secret; /* as read */
	unsigned done;
};

static void
check_login(const struct vector *v, struct slice rest, bool refused)
{
	struct slice answer = slice_cut(&rest, ' '), name = slice_cut(&rest, ' '), device = slice_cut(&rest, ' '), login = slice_cut(&rest, ' ');
	char got_device[33];
	struct slice got;
	struct account a;
	bool in = account_login(login, &got, got_device, sizeof got_device) && account_find(v->data, got, &a) && a.has_password &&
	    account_checkable(rest) && verifier_proves(&a.verifier, rest);

	if (refused || slice_equal(answer, slice_of("no"))) {
		check(!in, "%.*s does not log in with the password \"%.*s\"", (int)login.length, login.at, (int)rest.length, rest.at);
		return;
	}
	check(in && slice_equal(slice_of(a.name), name), "%.*s logs in to the account %.*s", (int)login.length, login.at, (int)name.length, name.at);
	check(slice_equal(slice_of(got_device[0] != '\0' ? got_device : "-"), device), "%.*s logs in with the device \"%.*s\"; got \"%s\"", (int)login.length, login.at, (int)device.length, device.at, got_device);
}

static void
check_decoy(const struct vector *v, struct slice rest)
{
	struct slice iterations = slice_cut(&rest, ' '), name = slice_cut(&rest, ' ');
	char salt[BASE64_LENGTH(SCRAM_SALT_MAX) + 1];
	unsigned long long n = 0;
	struct verifier d;
	struct account a;

	check(!account_find(v->data, name, &a), "no account is called %.*s", (int)name.length, name.at);
	account_decoy(v->secret, name, &d);
	base64_encode(d.salt, d.salt_length, salt);
	check(slice_number(iterations, 1000000, &n) && d.iterations == n && slice_equal(slice_of(salt), rest), "%.*s is answered with the salt %.*s, not %s",
	    (int)name.length, name.at, (int)rest.length, rest.at, salt);
}

static void
take_vector(struct vector *v, struct slice line)
{
	static unsigned char secret[32];
	struct slice word = slice_cut(&line, ' '), whole = line;
	struct account a;

	v->done++;
	if (slice_equal(word, slice_of("secret"))) {
		for (size_t i = 0; i < sizeof secret; i++)
			check(sscanf(line.at + 2 * i, "%2hhx", &secret[i]) == 1, "byte %zu of the vectors' secret is in hexadecimal", (size_t)i);
		v->secret = (struct slice){ (const char *)secret, sizeof secret };
	} else if (slice_equal(word, slice_of("account"))) {
		slice_cut(&line, ' ');
		slice_cut(&line, ' ');
		check(account_find(v->data, line, &a) && slice_equal(slice_of(a.name), line), "the vectors have an account %.*s", (int)line.length, line.at);
	} else if (slice_equal(word, slice_of("removed"))) {
		slice_cut(&line, ' ');
		check(!account_find(v->data, line, &a), "the vectors' account %.*s is removed", (int)line.length, line.at);
	} else if (slice_equal(word, slice_of("plain")) || slice_equal(word, slice_of("prep"))) {
		check_login(v, whole, slice_equal(word, slice_of("prep")));
	} else if (slice_equal(word, slice_of("decoy"))) {
		check_decoy(v, whole);
	} else {
		/* comments, reports and certificate logins are not tested here */
		v->done--;
	}
}

static void
test_account_vectors(const char *vectors)
{
	char path[512], line[1024];
	struct vector v = { 0 };
	FILE *f;

	snprintf(path, sizeof path, "%s/accounts", vectors);
	v.data = open(path, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof path, "%s/accounts/expect", vectors);
	f = fopen(path, "r");
	check(v.data >= 0 && f != NULL, "the files of docs/vectors/accounts can be opened");
	while (fgets(line, sizeof line, f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		take_vector(&v, slice_of(line));
	}
	check(v.done > 30, "docs/vectors/accounts/expect has more than 30 lines; got %u", v.done);
	fclose(f);
	close(v.data);
}

/* Finds the line of a file of bans that matches Ann, who connects from 192.0.2.7 or 2001:db8::7. */
static void
test_bans(void)
{
	static const struct { const char *line; bool old, new; } bans[] = {
		{ "ANN", true, true }, { "an", false, false }, { "  ann\treason=x by=bob", true, true }, { "# ann", false, false }, { "#ann", false, false },
		{ "192.0.2.7", true, false }, { "192.0.2.8", false, false }, { "::ffff:192.0.2.7", true, false }, { "192.0.2.0/24", true, false },
		{ "192.0.3.0/23", true, false }, { "192.0.0.0/23", false, false }, { "0.0.0.0/0", false, false }, { "192.0.2.0/33", false, false }, { "192.0.2.0/x", false, false },
		{ "::ffff:192.0.2.0/120", true, false }, { "2001:db8::/32", false, true }, { "2001:DB8:0:0::7", false, true }, { "2001:db8::8/125", false, false },
		{ "::/1", false, true }, { "::/0", false, false }, { "a*!*@*", true, true }, { "A?N!~X@*.account", true, true }, { "*!*@*", false, false }, { "*x", false, false },
		{ "ann until=2026-11-21T11:30:00Z", false, false }, { "ann until=2026-11-21T11:30:01Z", true, true }, { "ann until=soon", false, false }, { "ann created=x", false, false },
		{ "ann x-unknown=1", true, true }, { "ann\001", false, false }, { "ann \xff", false, false }, { "ann\r", true, true },
	};
	struct ban_client old = { slice_of("Ann"), slice_of("192.0.2.7"), slice_of("ann!~x@ann.account") }, new = old;
	char dir[FOLDER_BYTES], path[FOLDER_BYTES + 16], reason[BAN_REASON_MAX + 1];
	uint64_t now;
	int data;

	new.address = slice_of("2001:db8::7");
	check_folder(dir);
	check(clock_parse(slice_of("2026-11-21T11:30:00.000Z"), &now), "clock_parse reads 2026-11-21T11:30:00.000Z");
	snprintf(path, sizeof path, "%s/bans", dir);
	data = open(dir, O_RDONLY | O_DIRECTORY);
	check(!ban_find(data, &old, now, reason), "without the file \"bans\" no client is banned");
	for (size_t i = 0; i < sizeof bans / sizeof *bans; i++) {
		FILE *f = fopen(path, "w");

		check(f != NULL && fprintf(f, "%s\nbob reason=100%%25%%20%%0Aours", bans[i].line) > 0 && fclose(f) == 0, "the test can write the file \"bans\"");
		check(ban_find(data, &old, now, reason) == bans[i].old, "the ban \"%s\" of the client with an IPv4 address: %s", bans[i].line, bans[i].old ? "matches" : "does not match");
		check(ban_find(data, &new, now, reason) == bans[i].new, "the ban \"%s\" of the client with an IPv6 address: %s", bans[i].line, bans[i].new ? "matches" : "does not match");
	}
	check(ban_find(data, &(struct ban_client){ .account = slice_of("bob"), .address = slice_of(""), .mask = slice_of("") }, now, reason) && strcmp(reason, "100%  ours") == 0,
	    "the reason is \"100%%  ours\", not \"%s\"", reason);
	close(data);
	unlink(path);
	rmdir(dir);
}

void
test_accounts(const char *vectors)
{
	test_finding();
	test_account_vectors(vectors);
	test_bans();
}

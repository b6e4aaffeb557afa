/* Text: slices, lines of IRC, names, base64, times, views of stored lines. */
#include "unit.h"

#include "base64.h"
#include "check.h"
#include "clock.h"
#include "line.h"
#include "names.h"
#include "net.h"
#include "stored.h"
#include "view.h"

#include <inttypes.h>
#include <string.h>

static void
same(struct slice got, const char *want, const char *what)
{
	check(slice_equal(got, slice_of(want)), "%s is \"%s\"; got \"%.*s\"", what, want, (int)got.length, got.at);
}

static void
test_slices(void)
{
	struct slice rest = slice_of("a,b,,c");
	unsigned long long n;

	same(slice_cut(&rest, ','), "a", "the part before the first comma");
	same(slice_cut(&rest, ','), "b", "the part before the second comma");
	same(slice_cut(&rest, ','), "", "the part between two commas");
	same(slice_cut(&rest, ','), "c", "the part after the last comma");
	check(rest.length == 0, "slice_cut leaves nothing after the last part; got %zu bytes", rest.length);
	check(slice_number(slice_of("65535"), 65535, &n) && n == 65535, "slice_number accepts 65535 with the maximum 65535");
	check(!slice_number(slice_of("65536"), 65535, &n), "slice_number rejects 65536 with the maximum 65535");
	check(!slice_number(slice_of("99999999999999999999999"), UINT64_MAX, &n), "slice_number rejects a number that overflows 64 bits");
	check(!slice_number(slice_of(""), 9, &n) && !slice_number(slice_of("-1"), 9, &n) && !slice_number(slice_of("1 "), 9, &n), "slice_number rejects an empty text, a sign and a space");
}

static void
test_lines(void)
{
	struct line l;
	char longest[LINE_REST_MAX + 8];
	static const struct { const char *text; enum line_fault fault; } faults[] = {
		{ "", LINE_EMPTY }, { "   ", LINE_EMPTY }, { "PING a", LINE_FINE }, { "P\rING", LINE_BAD }, { "PRIV-MSG a", LINE_BAD },
		{ ":source", LINE_EMPTY }, { "@tag", LINE_EMPTY }, { "PRIVMSG a :\xC3\xA4", LINE_FINE }, { "PRIVMSG a :\xC3", LINE_NOT_UTF8 },
		{ "PRIVMSG a :\xED\xA0\x80", LINE_NOT_UTF8 }, { "PRIVMSG a :\xC0\x80", LINE_NOT_UTF8 }, { "PRIVMSG a :\xF4\x90\x80\x80", LINE_NOT_UTF8 },
	};

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		check(line_parse(slice_of(faults[i].text), &l) == faults[i].fault, "line_parse(\"%s\") returns the fault %d", faults[i].text, (int)faults[i].fault);
	check(line_parse((struct slice){ "PRIVMSG a :x\0y", 14 }, &l) == LINE_BAD, "line_parse rejects a line with a NUL");
	check(line_parse(slice_of("@a=b;c :nick!u@h  PRIVMSG   #room  x :two words :"), &l) == LINE_FINE, "line_parse accepts a line with tags, a source and several spaces");
	same(l.tags, "a=b;c", "the tags of the line");
	same(l.source, "nick!u@h", "the source of the line");
	same(l.command, "PRIVMSG", "the command of the line");
	check(l.count == 3, "the line has three parameters; got %d", (int)l.count);
	same(line_param(&l, 2), "two words :", "the last parameter of the line");
	same(line_param(&l, 3), "", "a parameter beyond the last");
	check(line_parse(slice_of("X 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"), &l) == LINE_FINE && l.count == LINE_PARAMS_MAX, "a line has at most %d parameters; got %d", LINE_PARAMS_MAX, (int)l.count);
	same(line_param(&l, 14), "15 16", "the fifteenth parameter, which has the rest of the line,");
	memset(longest, 'x', sizeof longest);
	check(line_parse((struct slice){ longest, LINE_REST_MAX - 2 }, &l) == LINE_FINE, "line_parse accepts a line of 510 bytes (RFC 1459, section 2.3: 512 with CR LF)");
	check(line_parse((struct slice){ longest, LINE_REST_MAX - 1 }, &l) == LINE_TOO_LONG, "line_parse rejects a line of 511 bytes as too long (RFC 1459, section 2.3)");
	check(line_parse_any((struct slice){ longest, LINE_REST_MAX - 1 }, &l) == LINE_FINE, "line_parse_any, for a server's lines, accepts 511 bytes");
}

static void
test_names(void)
{
	char folder[FOLDER_MAX + 1], user[USER_MAX + 1];
	static const char *const nicks[] = { "ann", "Ann[1]", "`a", "a-b", "{}|\\^_" }, *const no_nicks[] = { "", "1a", "-a", "a b", "a,b", "a!b", "a@b", "#a", "a.b", "\xC3\xA4" };
	static const char *const rooms[] = { "#a", "#A.b", "##", "#\xC3\xA4" }, *const no_rooms[] = { "", "#", "a", "#a b", "#a,b", "#a*", "#a?", "#a\x01" };

	for (size_t i = 0; i < sizeof nicks / sizeof *nicks; i++)
		check(name_is_nick(slice_of(nicks[i])), "name_is_nick accepts %s", nicks[i]);
	for (size_t i = 0; i < sizeof no_nicks / sizeof *no_nicks; i++)
		check(!name_is_nick(slice_of(no_nicks[i])), "name_is_nick rejects \"%s\"", no_nicks[i]);
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
		check(name_is_room(slice_of(rooms[i])), "name_is_room accepts %s", rooms[i]);
	for (size_t i = 0; i < sizeof no_rooms / sizeof *no_rooms; i++)
		check(!name_is_room(slice_of(no_rooms[i])), "name_is_room rejects \"%s\"", no_rooms[i]);
	check(name_same(slice_of("#Room[A]"), slice_of("#rOOM[a]")) && !name_same(slice_of("a{"), slice_of("a[")), "name_same ignores the case of A to Z only: a{ and a[ differ");
	check(name_folder(slice_of("#R.o/m%\xC3\xA4"), folder, sizeof folder) && strcmp(folder, "#r.o%2Fm%25%C3%A4") == 0, "the folder of #R.o/m%%\xC3\xA4 is in lower case, with / %% and other bytes escaped; got %s", folder);
	check(name_folder(slice_of("..a"), folder, sizeof folder) && strcmp(folder, "%2E.a") == 0, "a folder's leading dot is escaped; got %s", folder);
	check(name_folder(slice_of("ann,bob"), folder, sizeof folder) && strcmp(folder, "ann,bob") == 0, "the folder of the conversation ann,bob is ann,bob; got %s", folder);
	name_clean_user(slice_of("a b@c!d.e~f"), user);
	check(strcmp(user, "abcd.e~f") == 0, "a user name keeps its valid characters: abcd.e~f; got %s", user);
	name_clean_user(slice_of("@ !"), user);
	check(strcmp(user, "user") == 0, "an empty user name becomes \"user\"; got %s", user);
}

static void
test_base64(void)
{
	static const struct { const char *bytes, *text; } pairs[] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" } };
	static const char *const wrong[] = { "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zm 8", "Zg==Zg==", "Zm8\n" };
	char text[32], bytes[32];

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		long n = base64_decode(slice_of(pairs[i].text), bytes, sizeof bytes);

		base64_encode(pairs[i].bytes, strlen(pairs[i].bytes), text);
		check(strcmp(text, pairs[i].text) == 0, "\"%s\" is encoded as %s (RFC 4648, section 4); got %s", pairs[i].bytes, pairs[i].text, text);
		check(n == (long)strlen(pairs[i].bytes) && memcmp(bytes, pairs[i].bytes, (size_t)n) == 0, "\"%s\" is decoded to \"%s\" (RFC 4648, section 4)", pairs[i].text, pairs[i].bytes);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		check(base64_decode(slice_of(wrong[i]), bytes, sizeof bytes) < 0, "base64_decode rejects \"%s\"", wrong[i]);
	check(base64_decode(slice_of("Zm9vYmFy"), bytes, 5) < 0, "base64_decode rejects six bytes for a buffer of five");
}

static void
test_clock(void)
{
	static const struct { uint64_t ms; const char *text; } times[] = {
		{ 0, "1970-01-01T00:00:00.000Z" }, { 951782400123, "2000-02-29T00:00:00.123Z" }, { 1795260600123, "2026-11-21T11:30:00.123Z" },
		{ 4107542399999, "2100-02-28T23:59:59.999Z" }, { 4107542400000, "2100-03-01T00:00:00.000Z" }, { 253402300799999, "9999-12-31T23:59:59.999Z" },
	};
	static const char *const wrong[] = { "2026-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-11-21T24:00:00.000Z", "2026-11-21 11:30:00.123Z", "2026-11-21T11:30:00.123", "2026-11-21T11:30:60.123Z", "" };
	char text[CLOCK_TEXT + 1];
	uint64_t ms;

	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		clock_text(times[i].ms, text);
		check(strcmp(text, times[i].text) == 0, "clock_text writes %" PRIu64 " ms as %s; got %s", times[i].ms, times[i].text, text);
		check(clock_parse(slice_of(text), &ms) && ms == times[i].ms, "clock_parse reads %s as %" PRIu64 " ms", text, times[i].ms);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		check(!clock_parse(slice_of(wrong[i]), &ms), "clock_parse rejects \"%s\"", wrong[i]);
}

static void
test_view(void)
{
	static const char tags[] = "time=T;msgid=a-0;account=ann;weir/pad=xx;+draft/reply=m", plain[] = ":ann PRIVMSG #r :x\r\n";
	static const struct { unsigned caps; const char *extra, *stamp, *want; } views[] = {
		{ 0, NULL, NULL, ":ann PRIVMSG #r :x\r\n" },
		{ 0, NULL, "[14:05:12] ", ":ann PRIVMSG #r :[14:05:12] x\r\n" },
		{ CAP_SERVER_TIME, NULL, NULL, "@time=T :ann PRIVMSG #r :x\r\n" },
		{ CAP_MESSAGE_TAGS, NULL, NULL, "@msgid=a-0;+draft/reply=m :ann PRIVMSG #r :x\r\n" },
		{ CAP_ACCOUNT_TAG, "batch=h1", "[14:05:12] ", "@batch=h1;account=ann :ann PRIVMSG #r :[14:05:12] x\r\n" },
		{ CAP_MESSAGE_TAGS | CAP_SERVER_TIME | CAP_ACCOUNT_TAG, NULL, NULL, "@time=T;msgid=a-0;account=ann;+draft/reply=m :ann PRIVMSG #r :x\r\n" },
	};
	char to[256], stored[512];
	struct entry e = { slice_of("account=ann"), slice_of(":a TAGMSG #r") };
	size_t n;

	for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
		n = view_write(to, slice_of(tags), slice_of(plain), views[i].caps, views[i].extra, views[i].stamp);
		same((struct slice){ to, n }, views[i].want, "the view of a line for a client's capabilities");
	}
	n = stored_write(stored, sizeof stored, "abcdefgh", 0, 0, &e);
	check(n > 0 && stored_whole((struct slice){ stored, n }, 0), "stored_write writes a valid line for a TAGMSG, which has no text");
	check(view_write(to, stored_tags((struct slice){ stored, n }), stored_plain((struct slice){ stored, n }), CAP_SERVER_TIME, NULL, NULL) == 0, "a client without message-tags is not sent a TAGMSG");
	n = view_write(stored, stored_tags((struct slice){ stored, n }), stored_plain((struct slice){ stored, n }), ~0u, "batch=12345678901", NULL);
	check(n > 0, "view_write can write a line's view into the line's own buffer");
}

/* A message that is replayed to a client without server-time has its time in the text. */
static void
test_stamp(void)
{
	static const uint64_t noon = 1795262400000; /* 2026-11-21T12:00:00.000Z */
	static const struct { const char *plain, *want; } lines[] = {
		{ ":a NOTICE #r :one two\r\n", ":a NOTICE #r :[12:00:00] one two\r\n" },
		{ ":a PRIVMSG #r :\1ACTION waves\1\r\n", ":a PRIVMSG #r :\1ACTION [12:00:00] waves\1\r\n" },
		{ ":a PRIVMSG #r :\1DCC SEND\1\r\n", ":a PRIVMSG #r :\1DCC SEND\1\r\n" },
		{ ":a TOPIC #r :x\r\n", ":a TOPIC #r :x\r\n" },
	};
	static const char want[] = "@batch=12345678901;msgid=abcdefgh-0;weird=1 :a PRIVMSG #r :[2026-11-20 12:00:00] 12345678901\r\n";
	struct entry e = { slice_of("weird=1"), slice_of(":a PRIVMSG #r :12345678901") };
	char to[256], stored[512], stamp[VIEW_STAMP_MAX + 1];
	struct slice line;

	view_stamp(stamp, noon, noon + 1000);
	same(slice_of(stamp), "[12:00:00] ", "the stamp of a message of today");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		same((struct slice){ to, view_write(to, slice_of(""), slice_of(lines[i].plain), 0, NULL, stamp) }, lines[i].want, "a stamped line");
	view_stamp(stamp, noon - 86400000, noon);
	same(slice_of(stamp), "[2026-11-20 12:00:00] ", "the stamp of a message of yesterday");
	line = (struct slice){ stored, stored_write(stored, sizeof stored, "abcdefgh", 0, noon - 86400000, &e) };
	line.length = view_write(stored, stored_tags(line), stored_plain(line), CAP_MESSAGE_TAGS, "batch=12345678901", stamp);
	same(line, want, "a line whose view is written into its own buffer");
}

static void
test_addresses(void)
{
	char host[NET_HOST_MAX + 1];
	uint16_t port;
	static const char *const wrong[] = { "", ":1", "a", "a:", "a:0", "a:65536", "::1:6667", "a:1x" };
	static const char *const networks[][2] = {
		{ "192.0.2.1", "192.0.2.1" }, { "192.0.2.2", "192.0.2.2" }, { "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64" },
		{ "2001:db8:1:2::9", "2001:db8:1:2::/64" }, { "2001:db8:1:3::9", "2001:db8:1:3::/64" }, { "unknown", "unknown" },
	};

	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
		net_network(networks[i][0], host);
		check(strcmp(host, networks[i][1]) == 0, "the address %s is counted under %s; got %s", networks[i][0], networks[i][1], host);
	}
	net_customer("2001:db8:1:2::/64", host);
	check(strcmp(host, "2001:db8:1::/48") == 0, "an IPv6 customer is counted under its /48, 2001:db8:1::/48; got %s", host);
	net_customer("192.0.2.1", host);
	check(strcmp(host, "192.0.2.1") == 0, "an IPv4 customer is counted under its address, 192.0.2.1; got %s", host);
	check(net_parse("127.0.0.1:6667", host, &port) && strcmp(host, "127.0.0.1") == 0 && port == 6667, "net_parse reads 127.0.0.1:6667 as host and port; got %s and %u", host, (unsigned)port);
	check(net_parse("[::1]:1", host, &port) && strcmp(host, "::1") == 0 && port == 1, "net_parse reads [::1]:1 as host and port; got %s and %u", host, (unsigned)port);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		check(!net_parse(wrong[i], host, &port), "net_parse rejects \"%s\"", wrong[i]);
}

void
test_text(void)
{
	test_slices();
	test_lines();
	test_names();
	test_base64();
	test_clock();
	test_view();
	test_stamp();
	test_addresses();
}

package account

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestABanMatchesItsPattern(t *testing.T) {
	here := Client{Account: "Mallory", Addr: netip.MustParseAddr("192.0.2.7"), Mask: "Mal[1]!~mal@dsl-7.example.net"}
	six := Client{Addr: netip.MustParseAddr("2001:db8::7%eth0"), Mask: "x!y@2001:db8::7"}
	mapped := Client{Addr: netip.MustParseAddr("::ffff:192.0.2.7")}
	for _, c := range []struct {
		pattern, stored string
		client          Client
		banned          bool
	}{
		{"mallory", "mallory", here, true},
		{"MALLORY", "MALLORY", here, true},
		{"mal", "mal", here, false},
		{"mallory", "mallory", Client{}, false},
		{"192.0.2.7", "192.0.2.7", here, true},
		{"192.0.2.7", "192.0.2.7", mapped, true},
		{"::ffff:192.0.2.7", "192.0.2.7", here, true},
		{"::ffff:192.0.2.0/120", "192.0.2.0/24", here, true},
		{"192.0.2.8", "192.0.2.8", here, false},
		{"192.0.2.9/24", "192.0.2.0/24", here, true},
		{"192.0.2.8/29", "192.0.2.8/29", here, false},
		{"192.0.2.0/24", "192.0.2.0/24", Client{}, false},
		{"2001:db8::/32", "2001:db8::/32", six, true},
		{"2001:db8::7", "2001:db8::7", six, true},
		{"2001:db8::/32", "2001:db8::/32", here, false},
		{"*!*@*.EXAMPLE.net", "*!*@*.EXAMPLE.net", here, true},
		{"mal?1?!*", "mal?1?!*", here, true},
		{"mal[1]!~m?l@dsl-?.example.net", "mal[1]!~m?l@dsl-?.example.net", here, true},
		{"*!mal@*", "*!mal@*", here, false},
		{"*!*@*.example.ne", "*!*@*.example.ne", here, false},
		{"x!y@2001:*", "x!y@2001:*", six, true},
	} {
		s := open(t, t.TempDir(), Options{})
		b, err := s.Ban(Ban{Pattern: c.pattern, Reason: "be quiet, 100% of the time", By: "ann"})
		if err != nil || b.Pattern != c.stored {
			t.Errorf("Ban(%s): got the pattern %q and error %v, want %q", c.pattern, b.Pattern, err, c.stored)
			continue
		}
		found, banned := s.Banned(c.client, time.Now())
		if banned != c.banned || banned && (found.Reason != "be quiet, 100% of the time" || found.By != "ann") {
			t.Errorf("the ban %s of %+v: got banned %v, %+v; want %v with the reason and ann as its author", c.pattern, c.client, banned, found, c.banned)
		}
		if err := s.Unban(c.pattern); err != nil || len(s.Bans()) != 0 {
			t.Errorf("Unban(%s): got %v and the bans %v, want none", c.pattern, err, s.Bans())
		}
	}
}

func TestInvalidBansAreRejected(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, b := range []Ban{
		{Pattern: ""}, {Pattern: "*"}, {Pattern: "*!*@*"}, {Pattern: "?*!*@*"}, {Pattern: "0.0.0.0/0"}, {Pattern: "::/0"}, {Pattern: "::ffff:0.0.0.0/96"},
		{Pattern: "a b"}, {Pattern: "#room"}, {Pattern: "192.0.2.0/33"}, {Pattern: "192.0.2"}, {Pattern: "a\xffb*"}, {Pattern: strings.Repeat("a", 199) + "*!"},
		{Pattern: "bob", Reason: "two\nlines"}, {Pattern: "bob", Reason: strings.Repeat("x", maxReason+1)}, {Pattern: "bob", Until: time.Now().Add(-time.Second)},
	} {
		if got, err := s.Ban(b); !errors.Is(err, ErrBan) {
			t.Errorf("Ban(%+v): got %+v, %v; want ErrBan", b, got, err)
		}
	}
	if len(s.Bans()) != 0 {
		t.Errorf("Bans: got %v, want none", s.Bans())
	}
}

// TestBansExpire checks that an expired ban has no effect, that the next change removes it from the
// file, and that a new ban replaces one of the same pattern.
func TestBansExpire(t *testing.T) {
	dir, clock := t.TempDir(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := open(t, dir, Options{Now: func() time.Time { return clock }})
	ban := func(pattern string, until time.Time) {
		t.Helper()
		if _, err := s.Ban(Ban{Pattern: pattern, Until: until}); err != nil {
			t.Fatal(err)
		}
	}
	ban("bob", clock.Add(time.Hour))
	ban("BOB", clock.Add(2*time.Hour))
	ban("192.0.2.0/24", clock.Add(3*time.Hour))
	bob := Client{Account: "bob"}
	_, before := s.Banned(bob, clock.Add(2*time.Hour-time.Second))
	_, after := s.Banned(bob, clock.Add(2*time.Hour))
	if !before || after || len(s.Bans()) != 2 {
		t.Errorf("got banned %v before the end and %v after it, want true and false; bans %v", before, after, s.Bans())
	}
	clock = clock.Add(2 * time.Hour)
	ban("carl", time.Time{})
	if got := read(t, dir, "bans"); strings.Contains(strings.ToLower(got), "bob") || strings.Count(got, "\n") != 2 {
		t.Errorf("bans after bob's ban ended and carl was banned: got the file\n%s\nwant two lines, none for bob", got)
	}
}

// TestPatternsMatchAsTheirRecursiveDefinition compares matchesPattern with a definition of * and ?.
func TestPatternsMatchAsTheirRecursiveDefinition(t *testing.T) {
	var plain func(p, s string) bool
	plain = func(p, s string) bool {
		switch {
		case p == "":
			return s == ""
		case p[0] == '*':
			return plain(p[1:], s) || s != "" && plain(p, s[1:])
		}
		return s != "" && (p[0] == '?' || p[0] == s[0]) && plain(p[1:], s[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		if got, want := matchesPattern(p, s), plain(p, s); got != want {
			t.Errorf("matchesPattern(%q, %q): got %v, want %v", p, s, got, want)
		}
	})
}

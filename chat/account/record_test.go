package account

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"weir/chat/irc"
)

// FuzzTable: whatever a file holds, reading it does not fail, writing it back changes nothing but a
// missing last line end, and every account that is found is found again.
func FuzzTable(f *testing.F) {
	for _, seed := range []string{"", "\n", "# note\n\nann - role=admin\n", rfcAccount, rfcAccount + " role=king\r\n", "\x00\n\xff\n", "ann -\nANN -\n",
		"ann - certfp=" + strings.Repeat("ab", 32) + ",xx\n", "ann - created=yesterday\n", "mallory until=2026-11-21T11:30:00Z reason=a%20b\n", "room1 - 17\nroom1 phone x\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := data
		if len(data) > 0 && data[len(data)-1] != '\n' {
			want = append(bytes.Clone(data), '\n')
		}
		accounts := parseAccounts("accounts", data)
		written := accounts.table.bytes()
		if !bytes.Equal(written, want) {
			t.Fatalf("written back: got\n%q\nwant\n%q", written, want)
		}
		again := parseAccounts("accounts", written)
		if len(again.names) != len(accounts.names) || len(again.problems) != len(accounts.problems) {
			t.Errorf("parsed again: got %d accounts and %d problems, want %d and %d as at first", len(again.names), len(again.problems), len(accounts.names), len(accounts.problems))
		}
		for name, a := range accounts.names {
			if CheckName(a.Name) != nil || name != irc.Fold(a.Name) || a.Role.rank() < 0 {
				t.Errorf("got the account %+v as %q, want a valid name, its folded form and a known role", a, name)
			}
			if a.verifier != nil {
				if v, err := parseVerifier(a.verifier.String()); err != nil || v.String() != a.verifier.String() {
					t.Errorf("%s: parseVerifier(%s): got %v and error %v, want the same verifier", name, a.verifier, v, err)
				}
			}
		}
		parseBans("bans", data)
		parseInvites(data)
		for _, r := range accounts.table.lines {
			_, _, _ = parseMark(r)
		}
	})
}

// TestAnyValueIsReadAsItWasSet also checks that other keys and their order stay.
func TestAnyValueIsReadAsItWasSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := parseTable([]byte("name first=1 note=old last=%41\n"))
		value := rapid.String().Draw(t, "value")
		table.lines[0].set("note", value)
		table = parseTable(table.bytes())
		if len(table.lines) != 1 || table.lines[0].err != nil && utf8.ValidString(value) {
			t.Fatalf("value %q: got %d lines and error %v, want one valid line", value, len(table.lines), table.lines[0].err)
		}
		r := table.lines[0]
		if r.get("note") != value || r.get("first") != "1" || r.get("last") != "A" || r.get("none") != "" {
			t.Errorf("value %q: got %q from the line %q, want it and the other keys unchanged", value, r.get("note"), r.text)
		}
		if !strings.HasPrefix(r.text, "name first=1 ") || !strings.HasSuffix(r.text, " last=%41") {
			t.Errorf("after note was set: got the line %q, want the bytes of first and last unchanged", r.text)
		}
	})
}

func TestSplitAcceptsValidNamesOnly(t *testing.T) {
	for _, c := range []struct {
		authcid, name, device string
		ok                    bool
	}{
		{"ann", "ann", "", true},
		{"Ann@Phone", "Ann", "phone", true},
		{"[x]\\`_^{|}-9@a.b-c_d", "[x]\\`_^{|}-9", "a.b-c_d", true},
		{strings.Repeat("a", MaxName) + "@" + strings.Repeat("d", MaxDevice), strings.Repeat("a", MaxName), strings.Repeat("d", MaxDevice), true},
		{strings.Repeat("a", MaxName+1), "", "", false},
		{"a@" + strings.Repeat("d", MaxDevice+1), "", "", false},
		{"", "", "", false}, {"@phone", "", "", false}, {"ann@", "", "", false}, {"ann@*", "", "", false}, {"ann@-", "", "", false}, {"ann@.x", "", "", false},
		{"a,b", "", "", false}, {"a/b", "", "", false}, {".ann", "", "", false}, {"a.b", "", "", false}, {"9a", "", "", false}, {"-a", "", "", false},
		{"a b", "", "", false}, {"a\n", "", "", false}, {"a\x00", "", "", false}, {"Zoë", "", "", false}, {"a!b", "", "", false}, {"*", "", "", false}, {"#a", "", "", false},
	} {
		name, device, err := Split(c.authcid)
		if (err == nil) != c.ok || c.ok && (name != c.name || device != c.device) {
			t.Errorf("Split(%q): got name %q, device %q, error %v; want %q, %q, valid %v", c.authcid, name, device, err, c.name, c.device, c.ok)
		}
	}
	if irc.Fold("Az[]{}ÄZ") != "az[]{}Äz" {
		t.Errorf("irc.Fold(Az[]{}ÄZ): got %q, want az[]{}Äz (only A to Z change)", irc.Fold("Az[]{}ÄZ"))
	}
	if got := fileName("[X]\\`_^{|}-9"); got != "%5Bx%5D%5C%60_%5E%7B%7C%7D-9" {
		t.Errorf("fileName: got %s, want each byte that is not a letter, digit or - escaped as %%XX", got)
	}
}

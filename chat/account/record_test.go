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
		book := parseBook("accounts", data)
		written := book.table.bytes()
		if !bytes.Equal(written, want) {
			t.Fatalf("written back:\n%q\nwas\n%q", written, want)
		}
		again := parseBook("accounts", written)
		if len(again.names) != len(book.names) || len(again.problems) != len(book.problems) {
			t.Errorf("%d accounts and %d problems, then %d and %d", len(book.names), len(book.problems), len(again.names), len(again.problems))
		}
		for name, a := range book.names {
			if CheckName(a.Name) != nil || name != irc.Fold(a.Name) || a.Role.rank() < 0 {
				t.Errorf("an account %+v", a)
			}
			if a.verifier != nil {
				if v, err := parseVerifier(a.verifier.String()); err != nil || v.String() != a.verifier.String() {
					t.Errorf("%s: the verifier %s reads as %v, %v", name, a.verifier, v, err)
				}
			}
		}
		parseBans("bans", data)
		parseInvites(data)
		for _, r := range book.table.lines {
			_, _, _ = parseMark(r)
		}
	})
}

// A value of any text is read as it was set, and other keys and their order stay.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := parseTable([]byte("name first=1 note=old last=%41\n"))
		value := rapid.String().Draw(t, "value")
		table.lines[0].set("note", value)
		table = parseTable(table.bytes())
		if len(table.lines) != 1 || table.lines[0].err != nil && utf8.ValidString(value) {
			t.Fatalf("%q makes %d lines, %v", value, len(table.lines), table.lines[0].err)
		}
		r := table.lines[0]
		if r.get("note") != value || r.get("first") != "1" || r.get("last") != "A" || r.get("none") != "" {
			t.Errorf("%q is read from %q as %q", value, r.text, r.get("note"))
		}
		if !strings.HasPrefix(r.text, "name first=1 ") || !strings.HasSuffix(r.text, " last=%41") {
			t.Errorf("what was not touched changed: %q", r.text)
		}
	})
}

func TestNames(t *testing.T) {
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
			t.Errorf("%q is %q at %q, %v", c.authcid, name, device, err)
		}
	}
	if irc.Fold("Az[]{}ÄZ") != "az[]{}Äz" {
		t.Errorf("folded to %q", irc.Fold("Az[]{}ÄZ"))
	}
	if got := fileName("[X]\\`_^{|}-9"); got != "%5Bx%5D%5C%60_%5E%7B%7C%7D-9" {
		t.Errorf("the file is called %s", got)
	}
}

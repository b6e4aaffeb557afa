package irc

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSplitterCutsLinesHoweverTheyCome(t *testing.T) {
	long := strings.Repeat("x", maxLine+10)
	in := "one\r\ntwo\n\n" + long + "\nthree\r\n" + long + "tail\nfour\nfi"
	for _, step := range []int{1, 7, 100, 4096, len(in)} {
		var s Splitter
		var got []string
		var kept []byte
		for part := range slices.Chunk([]byte(in), step) {
			rest := append(kept, part...)
			for {
				line, r, whole, err := s.Next(rest)
				rest = r
				if !whole {
					break
				}
				if err != nil {
					line = []byte(err.Error())
				}
				got = append(got, string(line))
			}
			kept = slices.Clone(rest)
			if len(kept) > maxLine+1 {
				t.Fatalf("input in steps of %d bytes: got %d bytes kept for the next step, want at most %d", step, len(kept), maxLine+1)
			}
		}
		want := []string{"one", "two", "", ErrTooLong.Error(), "three", ErrTooLong.Error(), "four"}
		if !slices.Equal(got, want) || string(kept) != "fi" {
			t.Errorf("input in steps of %d bytes: got the lines %q and the rest %q, want %q and \"fi\"", step, got, kept, want)
		}
	}
}

func TestParseRejectsInvalidLines(t *testing.T) {
	for _, c := range []struct {
		line string
		want error
	}{
		{"PING x", nil},
		{"", ErrEmpty},
		{"   ", ErrEmpty},
		{"PRIVMSG #a :\x00", ErrSyntax},
		{"PRIVMSG #a :\xff", ErrUTF8},
		{"PRIVMSG #a :" + strings.Repeat("x", 510), ErrTooLong},
		{"@" + strings.Repeat("x", 4100) + " PING x", ErrTooLong},
	} {
		if _, err := Parse([]byte(c.line)); !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("Parse(%.40q): got %v, want %v", c.line, err, c.want)
		}
	}
	if m, _ := Parse([]byte(":someone PING x")); m.Source != "" {
		t.Error("Parse of a line with a source from a client: got it kept, want it dropped (RFC 2812, section 2.3)")
	}
}

func TestAViewHasTheTagsOfTheClientsCapabilities(t *testing.T) {
	tags := []byte("time=2026-11-21T11:30:00.123Z;msgid=abc-0;account=al;+r=x")
	own := append(bytes.Clone(tags), ";weir/pad=xx"...)
	body := []byte(":al!a@h PRIVMSG #r :hi\r\n")
	for _, c := range []struct {
		caps  Caps
		extra string
		want  string
	}{
		{0, "", ""},
		{CapServerTime, "", "@time=2026-11-21T11:30:00.123Z "},
		{CapMessageTags, "", "@msgid=abc-0;+r=x "},
		{CapMessageTags | CapServerTime | CapAccountTag, "", "@time=2026-11-21T11:30:00.123Z;msgid=abc-0;account=al;+r=x "},
		{CapMessageTags | CapServerTime, "batch=1", "@batch=1;time=2026-11-21T11:30:00.123Z;msgid=abc-0;+r=x "},
		{0, "batch=1", "@batch=1 "},
		{CapAccountTag, "", "@account=al "},
	} {
		for _, tags := range [][]byte{tags, own} {
			if got := string(AppendView(nil, c.caps.View(), c.extra, tags, body)); got != c.want+string(body) {
				t.Errorf("view for %v: got %q, want %q", c.caps.Names(), got, c.want)
			}
		}
	}
}

func TestRequestIsAllOrNothing(t *testing.T) {
	offered := AllCaps &^ CapSTS
	for _, c := range []struct {
		request string
		ok      bool
		want    Caps
	}{
		{"server-time", true, CapServerTime | CapBatch},
		{"server-time -batch", true, CapServerTime},
		{"server-time unknown", false, CapBatch},
		{"sts", false, CapBatch},
		{"", true, CapBatch},
	} {
		if got, ok := CapBatch.Request(c.request, offered); ok != c.ok || got != c.want {
			t.Errorf("CAP REQ %q: got %v, accepted %v; want %v, %v", c.request, got.Names(), ok, c.want.Names(), c.ok)
		}
	}
	if len(capNames) != len(AllCaps.Names()) {
		t.Errorf("got %d names for %d capabilities, want as many", len(capNames), len(AllCaps.Names()))
	}
}

func TestChangesKeepsTheKnownModes(t *testing.T) {
	for _, c := range []struct{ in, out, unknown string }{
		{"+nt", "+nt", ""},
		{"-n+k-l key", "-n+k-l key", ""},
		{"+ov ann bob", "+ov ann bob", ""},
		{"+o", "", ""},
		{"+b", "+b", ""},
		{"+xn", "+n", "x"},
		{"+l", "", ""},
		{"-k", "-k", ""},
	} {
		changes, unknown := Changes(strings.Fields(c.in))
		if got := strings.Join(FormatChanges(changes), " "); got != c.out || string(unknown) != c.unknown {
			t.Errorf("mode changes %q: got %q without %q, want %q without %q", c.in, got, unknown, c.out, c.unknown)
		}
	}
}

func TestMatchFollowsTheMask(t *testing.T) {
	for _, c := range []struct {
		mask, name string
		want       bool
	}{
		{"*", "", true}, {"a*", "ABC", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"*!*@h", "n!u@h", true}, {"*b*d", "abcd", true},
		{"*b*d", "abcde", false}, {"", "", true}, {"", "a", false}, {"a**b", "ab", true},
	} {
		if got := Match(c.mask, c.name); got != c.want {
			t.Errorf("Match(%q, %q): got %v, want %v", c.mask, c.name, got, c.want)
		}
	}
	for in, want := range map[string]string{"bob": "bob!*@*", "u@h": "*!u@h", "n!u@h": "n!u@h", "n!u": "n!u@*", "h.example": "*!*@h.example"} {
		if got := CleanMask(in); got != want {
			t.Errorf("CleanMask(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestOnlyValidNamesAreAccepted(t *testing.T) {
	for nick, want := range map[string]bool{"alice": true, "[a]": true, "1a": false, "-a": false, "a b": false, "é": false, "": false, strings.Repeat("a", 33): false} {
		if ValidNick(nick) != want {
			t.Errorf("ValidNick(%q): got %v, want %v", nick, !want, want)
		}
	}
	for room, want := range map[string]bool{"#a": true, "#": false, "a": false, "#é": true, "#a b": false, "#a,b": false, "#\x07": false, "#*": false} {
		if ValidRoom(room) != want {
			t.Errorf("ValidRoom(%q): got %v, want %v", room, !want, want)
		}
	}
	if CleanUser("~ü @x") != "~x" || CleanUser("  ") != "user" || Cut("aé", 2) != "a" {
		t.Errorf("got CleanUser %q and %q, Cut %q; want ~x, user and a", CleanUser("~ü @x"), CleanUser("  "), Cut("aé", 2))
	}
}

func TestSASLPartsAreCollectedToTheMessage(t *testing.T) {
	for _, n := range []int{0, 1, 299, 300, 301, 600, 900} {
		message := bytes.Repeat([]byte{'x'}, n)
		var a SASLMessage
		parts := SASLParts(message)
		for i, part := range parts {
			got, whole, err := a.Add(part)
			if err != nil || whole != (i == len(parts)-1) || whole && !bytes.Equal(got, message) {
				t.Errorf("message of %d bytes, part %d: got %q, complete %v, error %v; want it complete with part %d", n, i, got, whole, err, len(parts)-1)
			}
		}
	}
	var a SASLMessage
	if _, _, err := a.Add("not base64!"); !errors.Is(err, ErrSASL) {
		t.Errorf("Add(not base64!): got %v, want ErrSASL", err)
	}
}

func TestParseHistoryAcceptsOnlyValidRequests(t *testing.T) {
	at := time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		in, code string
		want     HistoryRequest
	}{
		{"LATEST #a * 10", "", HistoryRequest{Kind: "LATEST", Target: "#a", Limit: 10}},
		{"latest #a msgid=x 0", "", HistoryRequest{Kind: "LATEST", Target: "#a", From: Point{MsgID: "x"}, Limit: 100}},
		{"BEFORE bob timestamp=2026-11-21T11:30:00.000Z 1000", "", HistoryRequest{Kind: "BEFORE", Target: "bob", From: Point{Time: at}, Limit: 100}},
		{"BETWEEN #a msgid=x msgid=y 5", "", HistoryRequest{Kind: "BETWEEN", Target: "#a", From: Point{MsgID: "x"}, To: Point{MsgID: "y"}, Limit: 5}},
		{"TARGETS timestamp=2026-11-21T11:30:00.000Z timestamp=2026-11-21T11:30:00.000Z 5", "", HistoryRequest{Kind: "TARGETS", From: Point{Time: at}, To: Point{Time: at}, Limit: 5}},
		{"", "NEED_MORE_PARAMS", HistoryRequest{}},
		{"LATEST #a *", "NEED_MORE_PARAMS", HistoryRequest{}},
		{"BEFORE #a * 5", "INVALID_PARAMS", HistoryRequest{}},
		{"BEFORE #a msgid= 5", "INVALID_PARAMS", HistoryRequest{}},
		{"AFTER #a timestamp=yesterday 5", "INVALID_PARAMS", HistoryRequest{}},
		{"AFTER #a msgid=x -1", "INVALID_PARAMS", HistoryRequest{}},
		{"FROB #a * 5", "INVALID_PARAMS", HistoryRequest{}},
	} {
		got, code, _ := ParseHistory(strings.Fields(c.in), 100)
		if code != c.code || code == "" && got != c.want {
			t.Errorf("CHATHISTORY %q: got %+v %q, want %+v %q", c.in, got, code, c.want, c.code)
		}
	}
}

func TestWrapFitsTheWidthAndWhoxIsParsed(t *testing.T) {
	if got := Wrap([]string{"aa", "bb", "cc"}, 5); !slices.Equal(got, []string{"aa bb", "cc"}) {
		t.Errorf("Wrap(aa bb cc, 5): got %q, want \"aa bb\" and \"cc\"", got)
	}
	if fields, token, ok := ParseWhox("%tn,42"); fields != "tn" || token != "42" || !ok {
		t.Errorf("ParseWhox(%%tn,42): got fields %q, token %q, %v; want tn, 42, true", fields, token, ok)
	}
	if _, token, _ := ParseWhox("%t,4242"); token != "" {
		t.Error("ParseWhox of a token of four digits: got it accepted, want no token (at most three)")
	}
}

// A line of AppendLine is parsed back to the same values, whatever text a client sends.
func FuzzLine(f *testing.F) {
	f.Add("PRIVMSG", "#a", "hello there")
	f.Add("TOPIC", "#a", ":)")
	f.Add("PRIVMSG", "#a", "")
	f.Fuzz(func(t *testing.T, command, target, text string) {
		line := []byte(command + " " + target + " :" + text)
		m, err := Parse(line)
		if err != nil {
			return
		}
		for i, p := range m.Params[:max(0, len(m.Params)-1)] {
			if p == "" || p[0] == ':' || strings.Contains(p, " ") {
				t.Fatalf("Parse(%q): got %q as parameter %d, want one word that does not start with a colon (only the last may)", line, p, i)
			}
		}
		written := AppendLine(nil, "", m.Command, m.Params...)
		again, err := Parse(bytes.TrimSuffix(written, []byte("\r\n")))
		if errors.Is(err, ErrTooLong) {
			return // by the colon that it got
		}
		if err != nil || again.Command != m.Command || !slices.Equal(again.Params, m.Params) {
			t.Fatalf("Parse(%q), written as %q: got the parameters %q and error %v, want those of the first line: %q", line, written, again.Params, err, m.Params)
		}
	})
}

func FuzzHistory(f *testing.F) {
	f.Add("LATEST #a * 5")
	f.Add("BETWEEN #a msgid=x timestamp=2026-11-21T11:30:00.000Z 5")
	f.Fuzz(func(t *testing.T, line string) {
		r, code, _ := ParseHistory(strings.Fields(line), 100)
		if code == "" && (r.Limit < 1 || r.Limit > 100 || r.Kind != "TARGETS" && r.Target == "") {
			t.Fatalf("ParseHistory(%q): got %+v, want a limit from 1 to 100 and a target, or an error", line, r)
		}
	})
}

package accesslog

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// unescaped is what was escaped: the other way than the program's.
func unescaped(t *testing.T, s string) string {
	t.Helper()
	u, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		t.Fatalf("got %q (%v), want a text that Go can unquote", s, err)
	}
	return u
}

// oneLine holds a line against what must hold of any: it is one, and printable.
func oneLine(t *testing.T, line []byte, printable func(rune) bool) {
	t.Helper()
	text, ended := strings.CutSuffix(string(line), "\n")
	if i := strings.IndexFunc(text, func(r rune) bool { return !printable(r) }); !ended || i >= 0 {
		t.Errorf("got %q, want one printable line", line)
	}
}

var hostile = []string{"", "x", `"`, `\`, "a\nb", "\r\n127.0.0.1 - root [now] \"GET / HTTP/1.1\" 200 1\n", "\x1b[2Jgone", "é€", "\xff\xfe", "\x00", "\u2028", "\u202e", "\U0001f600", "\u0085", strings.Repeat("ä", 5000)}

func FuzzLines(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, s, s, s)
	}
	f.Fuzz(func(t *testing.T, target, user, agent, why string) {
		if len(target)+len(user)+len(agent)+len(why) > maxField {
			return
		}
		e := &entry{startedAt: time.Unix(0, 0).UTC(), client: "::1", user: user, method: "GET", target: target, proto: "HTTP/1.1", status: 200, referer: "r", agent: agent, err: errors.New(why)}
		line := appendCombined(nil, e)
		oneLine(t, line, func(r rune) bool { return r >= ' ' && r <= '~' })
		checkCombined(t, string(line), e)

		line = appendJSON(nil, e)
		oneLine(t, line, strconv.IsPrint)
		var got struct{ Target, User, Agent, Error string }
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("got %q (%v), want a JSON object", line, err)
		}
		for was, is := range map[string]string{target: got.Target, user: got.User, agent: got.Agent, why: got.Error} {
			if valid(was) != is {
				t.Errorf("%q in JSON: got %q back, want it unchanged except for invalid UTF-8", was, is)
			}
		}
	})
}

// valid is s with each byte that is no UTF-8 replaced, as a reader of JSON would see it.
func valid(s string) string { return string([]rune(s)) }

// checkCombined takes a line apart and holds it against what went in.
func checkCombined(t *testing.T, line string, e *entry) {
	t.Helper()
	fields := strings.SplitN(line, " ", 4)
	if user := fields[2]; e.user != "" && unescaped(t, user) != e.user {
		t.Errorf("user %q, want %q", user, e.user)
	}
	var quoted []string // what stands between quotes that have no backslash before them
	for in, i, from := false, 0, 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			if in {
				quoted = append(quoted, line[from:i])
			}
			in, from = !in, i+1
		}
	}
	if len(quoted) != 3 {
		t.Fatalf("got %q has %d quoted fields, want 3", line, len(quoted))
	}
	if got := unescaped(t, quoted[0]); got != "GET "+e.target+" HTTP/1.1" {
		t.Errorf("request %q, want the target %q", got, e.target)
	}
	if got := unescaped(t, quoted[2]); e.agent != "" && got != e.agent {
		t.Errorf("agent %q, want %q", got, e.agent)
	}
}

func TestLongFieldsAreCut(t *testing.T) {
	e := &entry{target: strings.Repeat("x", 100_000), err: errors.New("")}
	for name, format := range formats {
		if n := len(format(nil, e)); n < maxField || n > maxField+1000 {
			t.Errorf("%s: a line of %d bytes, want one of little over %d", name, n, maxField)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	e := &entry{startedAt: time.Now(), client: "127.0.0.1", method: "GET", target: "/index.html", proto: "HTTP/1.1", status: 200, bytes: 4096, agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", host: "example.org"}
	for name, format := range formats {
		b.Run(name, func(b *testing.B) {
			var space [512]byte
			b.ReportAllocs()
			for b.Loop() {
				format(space[:0], e)
			}
		})
	}
}

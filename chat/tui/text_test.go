package tui

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestCleanRemovesTerminalControls(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                            "plain",
		"日本語 ünï 👍🏽":                       "日本語 ünï 👍🏽",
		"\x1b[31mred\x1b[0m":               "�[31mred�[0m",
		"\x1b]0;title\x07":                 "�]0;title�",
		"\x1b]52;c;cm0gLXJm\x1b\\":         "�]52;c;cm0gLXJm�\\",
		"\u009b2J":                         "�2J",
		"\x9b2J":                           "�2J",
		"a\rb\nc\td":                       "a b c d",
		"\x7f\x00\x08":                     "���",
		"\x02bold\x0f \x0304,12red\x03 x":  "bold red x",
		"\x034you and 12":                  "you and 12",
		"\x03,5":                           ",5",
		"exe.\u202etxt":                    "exe.txt",
		"a\u2066b\u2069c\u200e":            "abc",
		"bad \xff\xfe utf":                 "bad �� utf",
		"a real � stays":                   "a real � stays",
		"para\u2029graph":                  "para graph",
		"\x01ACTION \x1b[2J\x01":           "�ACTION �[2J�",
		"hidden\U000e0041\U000e0042 words": "hidden words",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q): got %q, want %q", in, got, want)
		}
	}
}

// unsafeText returns the first control character with its context that is not a line break or one
// of our colour sequences; "" if there is none.
func unsafeText(screen string) string {
	for rest := screen; ; {
		at := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || isBidiControl(r) })
		if at < 0 {
			return ""
		}
		end := strings.IndexByte(rest[at:], 'm')
		if !strings.HasPrefix(rest[at:], "\x1b[") || end < 0 || strings.Trim(rest[at+2:at+end], "0123456789;") != "" {
			return rest[at:min(len(rest), at+20)]
		}
		rest = rest[at+end+1:]
	}
}

func TestCleanIsIdempotentAndSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		got := Clean(in)
		if Clean(got) != got {
			t.Errorf("Clean(%q): got %q, and %q for that; want no change by the second Clean", in, got, Clean(got))
		}
		if bad := unsafeText(got); bad != "" || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("Clean(%q): got %q left, want no control characters", in, bad)
		}
	})
}

func TestWrapKeepsTextAndFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := Clean(rapid.StringOf(rapid.RuneFrom([]rune("ab  日é👍"))).Draw(t, "text"))
		columns := rapid.IntRange(2, 20).Draw(t, "columns")
		var all strings.Builder
		for _, r := range wrap([]span{{text, ""}}, columns) {
			if r.width > columns {
				t.Fatalf("wrap: got a row of %d columns, want at most %d", r.width, columns)
			}
			r.write(&all)
		}
		strip := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if strip(all.String()) != strip(text) {
			t.Fatalf("wrap of %q: got %q, want the same characters", text, all.String())
		}
	})
}

func TestClipFitsTheColumns(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"abc", 1, "…"}, {"abc", 0, ""}} {
		if got := clip(c.text, c.columns); got != c.want {
			t.Errorf("clip(%q, %d): got %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestLinksEndBeforePunctuation(t *testing.T) {
	for text, want := range map[string]string{
		"https://a.b/c.": "https://a.b/c", "http://x) and": "http://x", "https://en.org/A_(b), yes": "https://en.org/A_(b)", "https://": "", "ftp://x": "",
		"HTTPS://X?y=1&z": "HTTPS://X?y=1&z", "https://ü.example/日本": "https://ü.example/日本",
	} {
		if got := text[:linkLen(text)]; got != want {
			t.Errorf("link in %q: got %q, want %q", text, got, want)
		}
	}
}

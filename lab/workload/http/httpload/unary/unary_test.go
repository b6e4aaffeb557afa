package unary

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read reads a body in pieces of the given size.
func read(body []byte, size int, succeeded bool) (message []byte, err error) {
	var a Answer
	for len(body) > 0 {
		piece := body[:min(size, len(body))]
		part, err := a.Feed(piece)
		if err != nil {
			return message, err
		}
		message, body = append(message, part...), body[len(piece):]
	}
	return message, a.End(succeeded)
}

func TestAnAnswerIsOneWholeMessage(t *testing.T) {
	for _, test := range []struct {
		name, body string
		succeeded  bool
		want, err  string
	}{
		{"a message", "\x00\x00\x00\x00\x02hi", true, "hi", ""},
		{"an empty message", "\x00\x00\x00\x00\x00", true, "", ""},
		{"a message of a failed call", "\x00\x00\x00\x00\x02hi", false, "hi", ""},
		{"none of a failed call", "", false, "", ""},
		{"none of a call that succeeded", "", true, "", "it has no message, although its status is OK"},
		{"half a prefix", "\x00\x00\x00", true, "", "it ends after 3 bytes of the prefix"},
		{"half a message", "\x00\x00\x00\x00\x05hi", true, "hi", "it ends 3 bytes before the end of its message"},
		{"two messages", "\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x01b", true, "", "its message: a unary call has one"},
		{"a compressed message", "\x01\x00\x00\x00\x01a", true, "", "its message is compressed"},
		{"another first byte", "<html>", true, "", "the first byte of its message is 60"},
		{"a large message", "\x00\xff\xff\xff\xffhi", true, "", "its message has 4294967295 bytes: more than the 16777216"},
	} {
		for _, size := range []int{1, 100} {
			got, err := read([]byte(test.body), size, test.succeeded)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s, %d bytes at a time: got error %v, want one with %q", test.name, size, err, test.err)
				}
				continue
			}
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %d bytes at a time: got %q, error %v; want %q", test.name, size, got, err, test.want)
			}
		}
	}
}

func TestAStatusIsANumberOrAName(t *testing.T) {
	for text, want := range map[string]Status{"0": OK, "OK": OK, "14": 14, "UNAVAILABLE": 14, "16": 16, "UNAUTHENTICATED": 16} {
		if got, ok := ParseStatus(text); !ok || got != want {
			t.Errorf("%q: got %d, valid %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "17", "-1", "ok", "0,0", "1e1", "999999999999"} {
		if got, ok := ParseStatus(text); ok {
			t.Errorf("%q: got %v, want it invalid", text, got)
		}
	}
	if got, want := Status(5).String(), "5 NOT_FOUND"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADetailCanBePrinted(t *testing.T) {
	for text, want := range map[string]string{
		"no such user":            "no such user",
		"50%25 are \"gone\"":      `50% are "gone"`,
		"100%":                    "100%",
		"%1b[2J%0d":               `\x1b[2J\r`,
		strings.Repeat("x", 9999): strings.Repeat("x", maxDetail),
	} {
		if got := Detail(text); got != want {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzAnswer checks that a message is read as it was encoded, and that other bodies are judged the
// same however they are split.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x02hi"), 3)
	f.Add([]byte("\x01\x00\x00\x00\x02hi"), 1)
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		size = 1 + size&15
		if got, err := read(Encode(body), size, true); err != nil || !bytes.Equal(got, body) {
			t.Errorf("a message of %d bytes: got %d, error %v; want it as it was", len(body), len(got), err)
		}
		whole, err := read(body, len(body)+1, true)
		cut, err2 := read(body, size, true)
		if (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(whole, cut) {
			t.Errorf("got %q, error %v in pieces of %d; want %q, %v as from the whole", cut, err2, size, whole, err)
		}
	})
}

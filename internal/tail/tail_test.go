package tail

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTheEndIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := New(10)
		all := ""
		for _, part := range rapid.SliceOf(rapid.StringN(0, 30, 30)).Draw(t, "parts") {
			_, _ = kept.Write([]byte(part))
			all += part
		}
		if want := all[max(0, len(all)-10):]; kept.String() != want {
			t.Fatalf("after %q: got %q, want the last 10 bytes %q", all, kept.String(), want)
		}
	})
}

func TestTheLastLineIsNotBlank(t *testing.T) {
	for text, want := range map[string]string{"": "", "\n \n": "", "a": "a", "a\nb \n": "b", "a\n\t b\r\n\n \n": "b"} {
		b := New(100)
		_, _ = b.Write([]byte(text))
		if got := b.LastLine(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

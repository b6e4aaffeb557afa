package subject

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWatchFindsALineInAnyParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := strings.Repeat("noise\n", rapid.IntRange(0, 3000).Draw(t, "lines"))
		text := before + "[info] server UP at 1\nmore"
		w := newWatch("server UP")
		fed := 0
		for fed < len(text) {
			n := min(rapid.IntRange(1, 5000).Draw(t, "cut"), len(text)-fed)
			_, _ = w.Write([]byte(text[fed : fed+n]))
			fed += n
			if w.hasSeen() != (fed >= len(before)+len("[info] server UP")) {
				t.Fatalf("after %d bytes: got hasSeen %t, want %t", fed, w.hasSeen(), !w.hasSeen())
			}
		}
	})
}

package printable

import "testing"

func TestWhatControlsATerminalIsReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "main.serve (server.go:7)": "main.serve (server.go:7)", "größer <b>": "größer <b>",
		"a\x1b[2Jb": "a\ufffd[2Jb", "a\r\nb\tc\x00": "a\ufffd\ufffdb\ufffdc\ufffd", "a\u202eb\u200b": "a\ufffdb\ufffd", "a\u009bb\xff": "a\ufffdb\ufffd",
	} {
		if got := Text(text); got != want || Is(text) != (text == want) {
			t.Errorf("%q: got %q, printable %v; want %q", text, got, Is(text), want)
		}
	}
}

func TestLinesKeepTheirBreaksAndTabs(t *testing.T) {
	if got, want := Lines("a\tb\nc\r\x1b[2J"), "a\tb\nc\ufffd\ufffd[2J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

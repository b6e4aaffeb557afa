package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/workload/chat/chatload"
)

func TestLoadChatRefusesARateOfNothing(t *testing.T) {
	none := 0.0
	if _, err := (&chatLoadCmd{Target: "127.0.0.1:1", Rate: &none}).config(); !errors.As(err, new(usageError)) {
		t.Errorf("--rate 0: got error %v, want a usage error", err)
	}
}

func TestLoadChatSaysWhatIsWrong(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := chatLoadCmd{Target: "127.0.0.1:1", Members: 2, Rooms: 1, Size: 80}
	if err := c.Run(context.Background(), newTerminal(out, out)); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("load without a server: got error %v, want one that says nothing listens there", err)
	}
	c.Members = 0
	if err := c.Run(context.Background(), newTerminal(out, out)); !errors.As(err, new(usageError)) {
		t.Errorf("--members 0: got error %v, want a usage error", err)
	}
}

func TestLoadChatWritesAcknowledgements(t *testing.T) {
	c := chatLoadCmd{Acks: filepath.Join(t.TempDir(), "acks")}
	if err := c.acks([]chatload.Acknowledged{{Room: "#r", Nick: "w0", Mark: "abcdefgh", Sent: 5, Messages: 4, How: "echo"}, {Nick: "w1"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.Acks)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	if want := `{"room":"#r","nick":"w0","mark":"abcdefgh","sender":0,"sent":5,"acknowledged":4,"how":"echo"}`; first != want || strings.Count(rest, "\n") != 1 {
		t.Errorf("--acks: want two lines, the first %s, got\n%s", want, text)
	}
}

package tui

import (
	"errors"
	"strings"
	"testing"

	"weir/chat/client/link"
)

func TestUpload(t *testing.T) {
	s := village(t, 80, 24)
	run := func(line string) string {
		s.input.set(line)
		s.enter()
		return strings.Join(s.notes, "\n")
	}
	if got := run("/upload x"); !strings.Contains(got, "takes no files") {
		t.Errorf("without a place for files: %q", got)
	}
	var begun []string
	s.o.Upload = func(to, token, file string) { begun = append(begun, to+" "+token+" "+file) }
	s.o.Home = "/people/ann"
	s.says(":srv.x 005 ann draft/FILEHOST=https://chat.example/upload :are")
	s.client.Output()
	run("/upload ~/a b.png")
	if got := s.output(); got != "FILEHOST TOKEN\r\n" {
		t.Errorf("it sends %q", got)
	}
	s.says(":srv.x FAIL FILEHOST ACCOUNT_REQUIRED TOKEN :Log in first")
	s.says(":srv.x FILEHOST TOKEN NOTASKED")
	run("/upload ~/a b.png")
	if got := run("/upload other"); !strings.Contains(got, "still being sent") {
		t.Errorf("two at once: %q", got)
	}
	s.says(":srv.x FILEHOST TOKEN T")
	if len(begun) != 1 || begun[0] != "https://chat.example/upload T /people/ann/a b.png" {
		t.Errorf("sent: %q", begun)
	}
	s.Update(uploaded{file: "/people/ann/a b.png", link: "https://chat.example/file/x/a%20b.png"})
	if got := s.input.String(); got != "https://chat.example/file/x/a%20b.png " {
		t.Errorf("the line is %q", got)
	}
	run("/upload x")
	s.Update(uploaded{file: "x", err: errors.New("too \x1b[2Jlarge")})
	if got := strings.Join(s.notes, ""); got != "x was not sent: too �[2Jlarge" {
		t.Errorf("a failure is %q", got)
	}
	run("/upload x")
	s.Update(link.Down{Err: errors.New("gone")})
	s.Update(uploaded{file: "x", link: "https://chat.example/file/x/x"})
	if got := strings.Join(s.notes, ""); !strings.Contains(got, "x is at https://") {
		t.Errorf("what was sent while the connection was lost: %q", got)
	}
}

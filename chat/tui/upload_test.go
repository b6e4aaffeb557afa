package tui

import (
	"errors"
	"strings"
	"testing"

	"weir/chat/client/link"
)

func TestUploadSendsTheFileWithAToken(t *testing.T) {
	s := village(t, 80, 24)
	run := func(line string) string {
		s.input.set(line)
		s.submit()
		return strings.Join(s.notes, "\n")
	}
	if got := run("/upload x"); !strings.Contains(got, "does not accept files") {
		t.Errorf("/upload to a server without uploads: got the note %q, want that it does not accept files", got)
	}
	var begun []string
	s.options.Upload = func(to, token, file string) { begun = append(begun, to+" "+token+" "+file) }
	s.options.Home = "/people/ann"
	s.says(":srv.x 005 ann draft/FILEHOST=https://chat.example/upload :are")
	s.client.Output()
	run("/upload ~/a b.png")
	if got := s.output(); got != "FILEHOST TOKEN\r\n" {
		t.Errorf("/upload: sent %q, want FILEHOST TOKEN", got)
	}
	s.says(":srv.x FAIL FILEHOST ACCOUNT_REQUIRED TOKEN :Log in first")
	s.says(":srv.x FILEHOST TOKEN NOTASKED")
	run("/upload ~/a b.png")
	if got := run("/upload other"); !strings.Contains(got, "still being sent") {
		t.Errorf("a second upload: got note %q, want that one is in progress", got)
	}
	s.says(":srv.x FILEHOST TOKEN T")
	if len(begun) != 1 || begun[0] != "https://chat.example/upload T /people/ann/a b.png" {
		t.Errorf("uploads: got %q, want one with the token", begun)
	}
	s.Update(uploadResult{file: "/people/ann/a b.png", link: "https://chat.example/file/x/a%20b.png"})
	if got := s.input.String(); got != "https://chat.example/file/x/a%20b.png " {
		t.Errorf("input line: got %q, want the link", got)
	}
	run("/upload x")
	s.Update(uploadResult{file: "x", err: errors.New("too \x1b[2Jlarge")})
	if got := strings.Join(s.notes, ""); got != "x was not sent: too �[2Jlarge" {
		t.Errorf("failed upload: got the note %q, want the reason without its control characters", got)
	}
	run("/upload x")
	s.Update(link.Down{Err: errors.New("gone")})
	s.Update(uploadResult{file: "x", link: "https://chat.example/file/x/x"})
	if got := strings.Join(s.notes, ""); !strings.Contains(got, "x is at https://") {
		t.Errorf("upload finished while disconnected: got note %q, want the link", got)
	}
}

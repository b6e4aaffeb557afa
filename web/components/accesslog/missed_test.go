package accesslog

import (
	"strings"
	"testing"
)

// stuck is a writer that waits for the test.
type stuck struct{ entered, leave chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	s.entered <- struct{}{}
	<-s.leave
	return len(p), nil
}

func TestLinesThatFindNoRoomAreToldOf(t *testing.T) {
	w := stuck{make(chan struct{}, 8), make(chan struct{})}
	told := make(chan error, 8)
	l, err := New(Config{Writer: w, Buffer: 4096, Flush: "0s", OnError: func(err error) { told <- err }})
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", 2000) + "\n")
	l.add(line)
	<-w.entered // the disk takes nothing
	for range 5 {
		l.add(line) // two wait, three find no room
	}
	close(w.leave)
	if err := <-told; !strings.Contains(err.Error(), "3 lines are lost") {
		t.Errorf("told %v, want that 3 lines are lost", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := l.Dropped(); n != 3 || len(told) != 0 {
		t.Errorf("got %d lines dropped, told %d times more; want 3, and once in all", n, len(told))
	}
}

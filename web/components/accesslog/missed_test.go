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

func TestLinesWithoutRoomAreReported(t *testing.T) {
	w := stuck{make(chan struct{}, 8), make(chan struct{})}
	reported := make(chan error, 8)
	l, err := New(Config{Writer: w, Buffer: 4096, Flush: "0s", OnError: func(err error) { reported <- err }})
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
	if err := <-reported; !strings.Contains(err.Error(), "3 lines are lost") {
		t.Errorf("got %v, want that 3 lines are lost", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	if n := l.Dropped(); n != 3 || len(reported) != 0 {
		t.Errorf("got %d lines dropped, %d more reports, want 3 and 0", n, len(reported))
	}
}

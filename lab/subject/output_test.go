package subject

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// lines is a reader that has a line every millisecond, and all that it has for each Read.
type lines struct {
	started time.Time
	taken   int // lines
	count   int // of lines until its end
	reads   int
}

func (l *lines) Read(b []byte) (n int, err error) {
	if l.taken == l.count {
		return 0, io.EOF
	}
	l.reads++
	time.Sleep(time.Until(l.started.Add(time.Duration(l.taken+1) * time.Millisecond)))
	for l.taken < min(l.count, int(time.Since(l.started)/time.Millisecond)) && n < len(b) {
		b[n] = '\n'
		n, l.taken = n+1, l.taken+1
	}
	return n, nil
}

func TestALineDoesNotWakeTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := &lines{started: time.Now(), count: 1000}, new(bytes.Buffer)
		copyInPieces(to, from, nil)
		if to.Len() != 1000 || from.reads > 1000/20+1 {
			t.Errorf("got %d lines by %d reads, want 1000 by at most 51", to.Len(), from.reads)
		}
		from, hurry := &lines{started: time.Now(), count: 1000}, make(chan struct{})
		close(hurry)
		if copyInPieces(io.Discard, from, hurry); from.reads != 1000 {
			t.Errorf("in a hurry: got %d reads of a line each, want 1000", from.reads)
		}
		from = &lines{started: time.Now().Add(-time.Hour), count: 1_000_000}
		started := time.Now()
		if copyInPieces(io.Discard, from, nil); time.Since(started) > readPause {
			t.Errorf("a megabyte that is there took %v, want one pause at most", time.Since(started))
		}
	})
}

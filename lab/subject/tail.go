package subject

import (
	"bytes"
	"strings"
	"sync"
)

// tail keeps the last bytes written to it. Its methods may be called from any goroutine.
type tail struct {
	limit int // bytes kept, at least

	mu   sync.Mutex
	kept []byte // up to twice limit, so that it is cut rarely
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if len(t.kept) > 2*t.limit {
		t.kept = append([]byte(nil), t.kept[len(t.kept)-t.limit:]...)
	}
	return len(b), nil
}

// String returns the last limit bytes.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept[max(0, len(t.kept)-t.limit):])
}

// watch waits for a line that contains text, among all that is written to it. One writer.
type watch struct {
	text string
	seen chan struct{} // closed by Write when the line has come
	line []byte        // the last, unfinished line, at most watchLine bytes of it
	over bool
}

// watchLine bounds what of an unfinished line is kept: a server's output may have no lines at all.
const watchLine = 8 << 10

func newWatch(text string) *watch {
	return &watch{text: strings.TrimSpace(text), seen: make(chan struct{})}
}

func (w *watch) Write(b []byte) (int, error) {
	if w.over {
		return len(b), nil
	}
	w.line = append(w.line, b...)
	if bytes.Contains(w.line, []byte(w.text)) {
		w.over, w.line = true, nil
		close(w.seen)
		return len(b), nil
	}
	if i := bytes.LastIndexByte(w.line, '\n'); i >= 0 {
		w.line = w.line[i+1:]
	}
	if extra := len(w.line) - watchLine; extra > 0 {
		w.line = append([]byte(nil), w.line[extra:]...)
	}
	return len(b), nil
}

// hasSeen may be called from any goroutine.
func (w *watch) hasSeen() bool {
	select {
	case <-w.seen:
		return true
	default:
		return false
	}
}

package subject

import (
	"bytes"
	"strings"
)

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

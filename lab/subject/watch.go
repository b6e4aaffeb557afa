package subject

import (
	"bytes"
	"strings"
)

// watch searches all that is written to it for a line with the text. It has one writer.
type watch struct {
	text      string
	foundChan chan struct{} // closed by Write when the line was found
	line      []byte        // the last, incomplete line, at most watchLine bytes of it
	found     bool
}

// watchLine bounds the stored part of an incomplete line, because a server's output may have no
// newlines.
const watchLine = 8 << 10

func newWatch(text string) *watch {
	return &watch{text: strings.TrimSpace(text), foundChan: make(chan struct{})}
}

func (w *watch) Write(b []byte) (int, error) {
	if w.found {
		return len(b), nil
	}
	w.line = append(w.line, b...)
	if bytes.Contains(w.line, []byte(w.text)) {
		w.found, w.line = true, nil
		close(w.foundChan)
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

// hasSeen reports whether the line was found. It may be called from any goroutine.
func (w *watch) hasSeen() bool {
	select {
	case <-w.foundChan:
		return true
	default:
		return false
	}
}

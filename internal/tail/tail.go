// Package tail keeps the end of a program's output, for errors that quote its last lines.
//
// Limitations: it cuts at bytes, so the first line, and a character of several bytes, may be
// incomplete.
package tail

import (
	"strings"
	"sync"
)

// Buffer is an io.Writer that keeps the last bytes written to it. Its methods may be called from
// any goroutine.
type Buffer struct {
	limit int // bytes

	mu   sync.Mutex
	kept []byte // up to twice limit, so that it is cut rarely
}

// New makes a buffer that keeps limit bytes.
func New(limit int) *Buffer { return &Buffer{limit: limit} }

// Write implements io.Writer. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p...)
	if len(b.kept) > 2*b.limit {
		b.kept = append([]byte(nil), b.kept[len(b.kept)-b.limit:]...)
	}
	return len(p), nil
}

// String returns the last limit bytes.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.kept[max(0, len(b.kept)-b.limit):])
}

// LastLine returns the last line that is not blank, without the blanks around it.
func (b *Buffer) LastLine() string {
	text := strings.TrimSpace(b.String())
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

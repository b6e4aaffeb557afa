// Package lograte limits the rate of repeated log lines. The first line of a kind is logged at
// once, and then at most one in an interval, which says how many were suppressed. A goroutine of
// the limiter writes the lines, so that a slow disk or a full pipe below the log blocks no caller.
//
// # Limitations
//
// Suppressed lines are counted, not kept. The next line of a kind, or Flush, reports how many.
// While the log blocks, up to 512 lines wait; further ones are suppressed.
package lograte

import (
	"fmt"
	"sync"
	"time"
)

const (
	maxKinds   = 256          // distinct kinds; further ones share one
	maxWaiting = 2 * maxKinds // lines that wait to be written
	flushLimit = time.Second  // how long Flush waits for lines to be written
)

// Limiter limits lines by their kind. Its methods may be called from any goroutine.
type Limiter struct {
	interval time.Duration
	out      func(format string, args ...any)

	mu      sync.Mutex // guards the fields below
	kinds   map[string]*kind
	waiting []string // lines to be written, the oldest first
	// Closed when no line waits any more. Nil: none waits, and no goroutine writes.
	written chan struct{}
}

// kind is the state of one kind of lines.
type kind struct {
	nextAt     time.Time // when the next line may be logged
	suppressed int       // lines suppressed since the last one
	lastLine   string    // the last suppressed line
}

// New makes a limiter that logs lines by out, one after the other, from a goroutine that runs while
// lines wait.
func New(interval time.Duration, out func(format string, args ...any)) *Limiter {
	return &Limiter{interval: interval, out: out, kinds: map[string]*kind{}}
}

// Say logs a line or suppresses it. It does not wait for the line to be written.
func (l *Limiter) Say(of, line string) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.findLocked(of, now)
	if now.Before(k.nextAt) || len(l.waiting) >= maxWaiting {
		k.suppressed++
		k.lastLine = line
		return
	}
	l.logLocked(k, line, now)
}

// findLocked returns the state of a kind. The caller holds mu.
func (l *Limiter) findLocked(of string, now time.Time) *kind {
	if k := l.kinds[of]; k != nil {
		return k
	}
	if len(l.kinds) >= maxKinds {
		l.forgetLocked(now)
	}
	if len(l.kinds) >= maxKinds {
		of = ""
	}
	if l.kinds[of] == nil {
		l.kinds[of] = &kind{}
	}
	return l.kinds[of]
}

// forgetLocked removes kinds without a line for an interval. The caller holds mu.
func (l *Limiter) forgetLocked(now time.Time) {
	for of, k := range l.kinds {
		if k.suppressed == 0 && !now.Before(k.nextAt) {
			delete(l.kinds, of)
		}
	}
}

// logLocked queues a line for the log. The caller holds mu.
func (l *Limiter) logLocked(k *kind, line string, now time.Time) {
	if k.suppressed > 0 {
		line += fmt.Sprintf(" (and %d more like this)", k.suppressed)
	}
	k.nextAt, k.suppressed = now.Add(l.interval), 0
	l.waiting = append(l.waiting, line)
	if l.written == nil {
		l.written = make(chan struct{})
		go l.write(l.written)
	}
}

// write writes lines until none waits. It is the limiter's goroutine; Flush waits for it.
func (l *Limiter) write(written chan<- struct{}) {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.waiting, l.written = nil, nil
			close(written)
			l.mu.Unlock()
			return
		}
		line := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		l.out("%s", line)
	}
}

// Flush logs the last line of each kind that has suppressed lines, once the interval is over. With
// all, it does so at once, and returns when all lines are written, or after a second.
func (l *Limiter) Flush(all bool) {
	l.mu.Lock()
	now := time.Now()
	for _, k := range l.kinds {
		if k.suppressed > 0 && (all || !now.Before(k.nextAt)) && len(l.waiting) < maxWaiting {
			k.suppressed--
			l.logLocked(k, k.lastLine, now)
		}
	}
	written := l.written
	l.mu.Unlock()
	if !all || written == nil {
		return
	}
	late := time.NewTimer(flushLimit)
	defer late.Stop()
	select {
	case <-written:
	case <-late.C:
	}
}

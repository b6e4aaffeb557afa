// Package lograte keeps what happens often from filling an operator's screen: the first line of a
// kind is passed on at once, and then at most one in an interval, which says how many were left
// out. Lines are written by a goroutine of the limiter, so that a slow disk or a full pipe below
// the log stops nothing else.
//
// # Limitations
//
// Lines that are left out are counted, not kept. The next line of a kind, or Flush, says how many.
// While the log takes nothing, up to 512 lines wait; further ones are left out.
package lograte

import (
	"fmt"
	"sync"
	"time"
)

const (
	maxKinds   = 256          // that are told apart; the others share one
	maxWaiting = 2 * maxKinds // lines that wait to be written
	flushLimit = time.Second  // how long Flush waits for lines to be written
)

// Limiter limits lines by their kind. Its methods may be called from any goroutine.
type Limiter struct {
	interval time.Duration
	out      func(format string, args ...any)

	mu      sync.Mutex // guards what follows
	kinds   map[string]*kind
	waiting []string // lines that are to be written, the first first
	// closed when no line waits any more; nil: none waits, and no goroutine writes
	written chan struct{}
}

// kind is what is known of lines of one kind.
type kind struct {
	next time.Time // when another may be passed on
	left int       // how many were left out since the last
	line string    // the last of those
}

// New makes a limiter that passes lines on to out, one after the other, by a goroutine that runs
// while lines wait.
func New(interval time.Duration, out func(format string, args ...any)) *Limiter {
	return &Limiter{interval: interval, out: out, kinds: map[string]*kind{}}
}

// Say passes a line on, or leaves it out. It does not wait for the line to be written.
func (l *Limiter) Say(of, line string) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.find(of, now)
	if now.Before(k.next) || len(l.waiting) >= maxWaiting {
		k.left++
		k.line = line
		return
	}
	l.tell(k, line, now)
}

// find gives what is known of a kind. The caller holds mu.
func (l *Limiter) find(of string, now time.Time) *kind {
	if k := l.kinds[of]; k != nil {
		return k
	}
	if len(l.kinds) >= maxKinds {
		l.forget(now)
	}
	if len(l.kinds) >= maxKinds {
		of = ""
	}
	if l.kinds[of] == nil {
		l.kinds[of] = &kind{}
	}
	return l.kinds[of]
}

// forget lets go of kinds of which nothing was said for an interval. The caller holds mu.
func (l *Limiter) forget(now time.Time) {
	for of, k := range l.kinds {
		if k.left == 0 && !now.Before(k.next) {
			delete(l.kinds, of)
		}
	}
}

// tell passes a line on. The caller holds mu.
func (l *Limiter) tell(k *kind, line string, now time.Time) {
	if k.left > 0 {
		line += fmt.Sprintf(" (and %d more like this)", k.left)
	}
	k.next, k.left = now.Add(l.interval), 0
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

// Flush passes on the last line of each kind of which some were left out, once the interval is
// over. With all, it does so at once, and returns when all lines are written, or after a second.
func (l *Limiter) Flush(all bool) {
	l.mu.Lock()
	now := time.Now()
	for _, k := range l.kinds {
		if k.left > 0 && (all || !now.Before(k.next)) && len(l.waiting) < maxWaiting {
			k.left--
			l.tell(k, k.line, now)
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

// Package lograte keeps what happens often from filling an operator's screen: the first line of a kind is passed on at once, and
// then at most one in an interval, which says how many were left out.
//
// # Limitations
//
// Lines that are left out are counted, not kept. What was left out last is told by the next line of its kind, or by Flush.
package lograte

import (
	"fmt"
	"sync"
	"time"
)

// maxKinds is how many kinds are told apart; the others share one.
const maxKinds = 256

// Limiter limits lines by their kind. Its methods may be called from any goroutine.
type Limiter struct {
	interval time.Duration
	out      func(format string, args ...any)

	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is what is known of lines of one kind.
type kind struct {
	next time.Time // when another may be passed on
	left int       // how many were left out since the last
	line string    // the last of those
}

// New makes a limiter that passes lines on to out, which must not call it.
func New(interval time.Duration, out func(format string, args ...any)) *Limiter {
	return &Limiter{interval: interval, out: out, kinds: map[string]*kind{}}
}

// Say passes a line on, or leaves it out.
func (l *Limiter) Say(of, line string) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.find(of, now)
	if now.Before(k.next) {
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
	l.out("%s", line)
}

// Flush tells of lines that were left out for an interval; with all, of others too.
func (l *Limiter) Flush(all bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kinds {
		if k.left > 0 && (all || !now.Before(k.next)) {
			k.left--
			l.tell(k, k.line, now)
		}
	}
}

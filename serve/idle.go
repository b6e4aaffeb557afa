package serve

import (
	"errors"
	"time"
)

// ErrIdle is the error of a connection that has transferred no bytes for Options.IdleTimeout.
var ErrIdle = errors.New("serve: idle timeout")

// idleChecks is how many checks there are in Options.IdleTimeout. A connection ends between that
// time and a quarter more.
const idleChecks = 4

// idleDetector finds connections that transfer nothing. It has one owner.
type idleDetector struct {
	lastCount   int64 // reads and writes up to the last check
	quietChecks int   // checks in a row that found nothing new
}

// check reports whether the connection is idle, given its number of reads and writes.
func (i *idleDetector) check(passed int64) bool {
	if passed != i.lastCount {
		i.lastCount, i.quietChecks = passed, 0
		return false
	}
	i.quietChecks++
	return i.quietChecks >= idleChecks
}

// watchIdle ends the connection with ErrIdle when it has transferred nothing for the bound. Zero:
// no bound. The returned function ends the watch.
func (s *stream) watchIdle(bound time.Duration) (stop func()) {
	if bound <= 0 {
		return func() {}
	}
	var seen idleDetector
	donec := make(chan struct{}) // closed by stop
	var look func()
	look = func() {
		select {
		case <-donec:
			return
		default:
		}
		if seen.check(s.counters.reads.v.Load() + s.counters.writes.Load()) {
			s.fail(ErrIdle)
			return
		}
		time.AfterFunc(bound/idleChecks, look)
	}
	time.AfterFunc(bound/idleChecks, look)
	return func() { close(donec) }
}

// idleWriteSize is the largest part of one Write. At most so many bytes pass between two checks
// without being counted, so that a large Write does not look idle.
const idleWriteSize = 64 << 10

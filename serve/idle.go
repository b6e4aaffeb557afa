package serve

import (
	"errors"
	"time"
)

// ErrIdle is the error of a connection on which nothing has passed for Options.Idle.
var ErrIdle = errors.New("serve: connection idle for too long")

// idleLooks is how often in Options.Idle a connection is looked at, so that it ends between that
// and a quarter more.
const idleLooks = 4

// idleness finds out that nothing passes a connection. It has one owner.
type idleness struct {
	passed int64 // reads and writes up to the last look
	looks  int   // in a row that have found nothing new
}

// look reports whether nothing has passed for long, given how many reads and writes there have
// been.
func (i *idleness) look(passed int64) bool {
	if passed != i.passed {
		i.passed, i.looks = passed, 0
		return false
	}
	i.looks++
	return i.looks >= idleLooks
}

// watchIdle ends the connection by ErrIdle when nothing has passed for so long. Zero: never.
// The returned function ends the watch.
func (s *stream) watchIdle(bound time.Duration) (stop func()) {
	if bound <= 0 {
		return func() {}
	}
	var seen idleness
	donec := make(chan struct{}) // closed by stop
	var look func()
	look = func() {
		select {
		case <-donec:
			return
		default:
		}
		if seen.look(s.lane.reads.v.Load() + s.lane.writes.Load()) {
			s.fail(ErrIdle)
			return
		}
		time.AfterFunc(bound/idleLooks, look)
	}
	time.AfterFunc(bound/idleLooks, look)
	return func() { close(donec) }
}

// idleWrite is how many bytes of one Write pass between two looks at least, so that a large one is
// no idle one.
const idleWrite = 64 << 10

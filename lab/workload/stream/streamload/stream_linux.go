package streamload

import (
	"sync/atomic"
	"syscall"

	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
)

// stream is the state that sender, reader and controller of a run share. All fields but the atomics
// are set before they start and do not change.
type stream struct {
	clock    raw.Clock
	payload  *payload
	schedule schedule.Schedule // of messages; with bits only its start and pattern are used
	size     int               // bytes per message
	bits     bool              // no schedule of messages: bytes and writes are counted
	echo     bool
	grace    int64   // ns; see Config.grace
	fds      []int32 // the sending connections, then the idle ones
	senders  int

	window *tally.Window
	stop   atomic.Bool // controller -> sender, reader: stop soon
	// controller -> reader: the sender has ended; wait for echoes until this time, in ns;
	// tally.Unset before
	drainUntil atomic.Int64
	// by connection: closed early; the goroutine that detects it first counts it
	lost         []atomic.Bool
	aliveSenders atomic.Int64 // sending connections that are not lost
	sent         atomic.Int64 // sender -> any goroutine: complete messages sent
	echoed       atomic.Int64 // reader -> any goroutine: complete echoes
	// sender -> any goroutine: ns; maximum lateness since it was last set to 0
	maxLateness atomic.Int64
	// sender -> reader: bytes sent on each connection, set when the sender ends
	sentTotals []atomic.Int64
}

// lose counts the loss of connection i, once. Errno 0 means that the server closed it.
func (s *stream) lose(i int, f *tally.Failures, errno syscall.Errno) {
	if s.lost[i].Swap(true) {
		return
	}
	kind := "closed early"
	switch errno {
	case 0, syscall.EPIPE:
	case syscall.ECONNRESET:
		kind = "connection reset"
	default:
		kind = errno.Error()
	}
	if i >= s.senders {
		f.Add("idle "+kind, 1, "idle connection %d: %s", i-s.senders, kind)
		return
	}
	s.aliveSenders.Add(-1)
	f.Add(kind, 1, "connection %d: %s when %d messages had been sent on all", i, kind, s.sent.Load())
}

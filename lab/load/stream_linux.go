package load

import (
	"sync/atomic"
	"syscall"

	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

// stream is what sender, reader and controller share of a run. Everything but the atomics is set
// before they start and stays.
type stream struct {
	clock    raw.Clock
	payload  *payload
	schedule schedule // of messages; with bits only its start and pattern are meant
	size     int      // bytes a message
	bits     bool     // no schedule of messages: bytes and writes count
	echo     bool
	grace    int64   // ns; see Config.grace
	fds      []int32 // the senders, then the idle ones
	senders  int

	window *tally.Window
	stop   atomic.Bool // controller -> sender, reader: end soon
	// controller -> reader: nothing more is sent; wait for echoes until then, in ns; unset before
	drain  atomic.Int64
	lost   []atomic.Bool  // by connection: ended early; whoever finds it first counts it
	alive  atomic.Int64   // connections that send and aren't lost
	sent   atomic.Int64   // sender -> anybody: whole messages sent
	echoed atomic.Int64   // reader -> anybody: whole echoes
	worst  atomic.Int64   // sender -> anybody: ns; the greatest lateness since somebody set it to 0
	totals []atomic.Int64 // sender -> reader: bytes sent on each connection, once nothing more is
}

// lose counts the end of connection i, once. No errno means that the server closed it.
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
	s.alive.Add(-1)
	f.Add(kind, 1, "connection %d: %s when %d messages had been sent on all", i, kind, s.sent.Load())
}

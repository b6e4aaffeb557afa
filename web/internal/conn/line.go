package conn

import (
	"context"
	"net"
	"sync/atomic"
)

// Line is a connection's lowest layer under watch: plain bytes, under TLS if there is any.
type Line struct {
	net.Conn
	tcp    *net.TCPConn // the same when it is TCP
	watch  *Watch
	closed func()
	index  int // in watch.lines, guarded by watch.mu; -1: no longer there

	// By when, by the watch's clock, the read that is pending must end; 0 when none is or it may last.
	readBy  atomic.Int64
	writing atomic.Bool  // a write is pending
	wrote   atomic.Int64 // bytes of finished writes, where the kernel does not tell what was acknowledged

	// Owned by the watch: what had arrived at the client at since, while writes were pending all the time.
	since, arrived int64

	end      atomic.Pointer[context.CancelFunc] // ends the context of the requests on the line
	hijacked atomic.Bool
	told     atomic.Bool // the server stops
	used     atomic.Bool // something was read
}

// piece is what is written at once where progress is seen only when a write ends.
const piece = 64 << 10

// Write writes p. A client that takes less than the rules' rate for too long ends the line.
func (l *Line) Write(p []byte) (n int, err error) {
	l.begin()
	defer l.done()
	if seesArrivals && l.tcp != nil {
		return l.tcp.Write(p)
	}
	return l.writePieces(p)
}

// begin and done enclose what writes.
func (l *Line) begin() { l.writing.Store(true) }
func (l *Line) done()  { l.writing.Store(false) }

func (l *Line) writePieces(p []byte) (n int, err error) {
	for {
		m, err := l.Conn.Write(p[n:min(len(p), n+piece)])
		n += m
		l.wrote.Add(int64(m))
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// Close ends the line.
func (l *Line) Close() error {
	err := l.Conn.Close()
	if l.watch.forget(l) && l.closed != nil {
		l.closed()
	}
	return err
}

// abort ends the line without waiting for what the client did not take.
func (l *Line) abort() {
	if l.tcp != nil {
		l.tcp.SetLinger(0)
	}
	l.Close()
}

// late says whether the client kept the server waiting for longer than the rules allow. Only the watch
// calls it.
func (l *Line) late(now int64, r *Rules) bool {
	if by := l.readBy.Load(); by != 0 && now > by {
		return true
	}
	if !l.writing.Load() || r.Grace <= 0 {
		l.since = 0
		return false
	}
	return l.lateTaking(now, r)
}

// lateTaking says whether the client takes an answer too slowly: less than the rate over a grace's time in
// which there was always something for it.
func (l *Line) lateTaking(now int64, r *Rules) bool {
	waited := now - l.since
	if l.since != 0 && waited < int64(r.Grace) {
		return false
	}
	arrived, outstanding := l.arrivals()
	slow := l.since != 0 && outstanding && float64(arrived-l.arrived) < float64(r.Rate)*float64(waited)/1e9
	l.since, l.arrived = now, arrived
	return slow
}

// arrivals is how many bytes the client has acknowledged, as far as that can be known, and whether it was sent
// more than that.
func (l *Line) arrivals() (bytes int64, outstanding bool) {
	if l.tcp != nil {
		if n, out, ok := acknowledged(l.tcp); ok {
			return n, out
		}
	}
	return l.wrote.Load(), true
}

// Await says that the client must send within the time for heads: a handshake, say. Arrived ends it.
func (l *Line) Await() {
	if d := l.watch.rules.Header; d > 0 {
		l.readBy.Store(l.watch.clock.Load() + int64(d))
	}
}

// Arrived ends what Await began.
func (l *Line) Arrived() {
	l.used.Store(true)
	l.readBy.Store(0)
}

// tell says that the server stops.
func (l *Line) tell() {
	l.told.Store(true)
	switch {
	case l.hijacked.Load():
		l.cancel()
	case !l.used.Load():
		l.Close()
	}
}

func (l *Line) cancel() {
	if end := l.end.Load(); end != nil {
		(*end)()
	}
}

// takenOver is called when the line no longer carries HTTP.
func (l *Line) takenOver() {
	l.hijacked.Store(true)
	l.readBy.Store(0)
	if l.told.Load() {
		l.cancel()
	}
}

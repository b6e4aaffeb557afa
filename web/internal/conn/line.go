package conn

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"weir/serve"
)

// Line is a connection's lowest layer under watch: plain bytes, under TLS if there is any.
type Line struct {
	net.Conn
	tcp    *net.TCPConn    // the same when it is TCP
	raw    syscall.RawConn // its descriptor; nil: it has none
	direct direct          // over tcp
	watch  *Watch
	place  *Place // nil: it is not counted
	index  int    // in watch.lines, guarded by watch.mu; -1: no longer there

	// By when, by the watch's clock, the read that is pending must end; 0 when none is or it may
	// last.
	readBy atomic.Int64
	output atomic.Uint32 // settled, writing or written
	// bytes of finished writes, where the kernel does not tell what was acknowledged
	wrote atomic.Int64

	// Owned by the watch: since when there was always something that the client could not yet be
	// sent (0: there is nothing), what had arrived there then, and when to look again.
	since, arrived, next int64

	// ends the context of a request that may take the line over
	end      atomic.Pointer[context.CancelFunc]
	hijacked atomic.Bool
	told     atomic.Bool // the server stops
	used     atomic.Bool // something was read
	idle     atomic.Bool // nothing is asked
	// The stop of the server ends the line while it is idle: the one that reads it does not notice.
	EndsIdle bool

	// Read does not wait: it is [serve.TryRead]. The goroutine that reads owns it.
	Tries bool

	// closed when the line leaves the watch; nil until Ended is called. Guarded by watch.mu
	ended chan struct{}
}

// What is known of a line's output.
const (
	settled uint32 = iota // the kernel has sent everything, or nothing was written yet
	writing               // a write is pending
	written               // no longer, but the kernel may still have to send some
)

// piece is what is written at once where progress is seen only when a write ends.
const piece = 64 << 10

// Read reads what there is.
func (l *Line) Read(p []byte) (int, error) {
	switch {
	case l.tcp != nil:
		return l.direct.Read(l.tcp, p)
	case l.Tries:
		return serve.TryRead(l.Conn, p)
	}
	return l.Conn.Read(p)
}

// TryRead implements [serve.TryRead].
func (l *Line) TryRead(p []byte) (int, error) {
	if l.tcp != nil {
		return l.direct.Read(l.tcp, p)
	}
	return serve.TryRead(l.Conn, p)
}

// Write writes p. A client that takes less than the rules' rate for too long ends the line.
func (l *Line) Write(p []byte) (n int, err error) {
	l.Writing()
	defer l.Written()
	if seesArrivals && l.tcp != nil {
		return l.direct.Write(l.tcp, p)
	}
	return l.writePieces(p)
}

// Writing and Written enclose what writes.
func (l *Line) Writing() { l.output.Store(writing) }
func (l *Line) Written() { l.output.Store(written) }

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
	l.Leave()
	return err
}

// Leave takes the line out of the watch: its connection has ended, or others end it.
func (l *Line) Leave() {
	if l.watch.forget(l) && l.place != nil {
		l.place.Leave()
	}
}

// CloseWrite shuts the connection down for writing, if it can.
func (l *Line) CloseWrite() error {
	if half, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Ended returns a channel that is closed when the line has left the watch.
func (l *Line) Ended() <-chan struct{} {
	l.watch.mu.Lock()
	defer l.watch.mu.Unlock()
	if l.ended == nil {
		l.ended = make(chan struct{})
		if l.index < 0 {
			close(l.ended)
		}
	}
	return l.ended
}

// NetConn returns the connection.
func (l *Line) NetConn() net.Conn { return l.Conn }

// abort ends the line without waiting for what the client did not take.
func (l *Line) abort() {
	if l.raw != nil {
		resetOnClose(l.raw)
	}
	l.Close()
}

// late says whether the client kept the server waiting for longer than the rules allow. Only the
// watch calls it.
func (l *Line) late(now int64, r *Rules) bool {
	if by := l.readBy.Load(); by != 0 && now > by {
		return true
	}
	if l.output.Load() == settled || now < l.next || r.Grace <= 0 {
		return false
	}
	l.next = now + int64(r.Grace)/4
	return l.lateTaking(now, r)
}

// lateTaking says whether the client takes an answer too slowly: less than the rate over a grace's
// time in which there was always more for it. Whether a handler still writes, or all is in the
// kernel's hands, makes no difference.
func (l *Line) lateTaking(now int64, r *Rules) bool {
	arrived, more := l.arrivals()
	switch {
	case !more:
		l.since = 0
		l.output.CompareAndSwap(written, settled)
		return false
	case l.since != 0 && now-l.since < int64(r.Grace):
		return false
	}
	slow := l.since != 0 && float64(arrived-l.arrived) < float64(r.Rate)*float64(now-l.since)/1e9
	l.since, l.arrived = now, arrived
	return slow
}

// arrivals is how many bytes the client has acknowledged, as far as that can be known, and whether
// there are more that it could not be sent yet.
func (l *Line) arrivals() (bytes int64, more bool) {
	if l.raw != nil {
		if n, more, ok := acknowledged(l.raw); ok {
			return n, more
		}
	}
	return l.wrote.Load(), l.output.Load() == writing
}

// Await says that the client must send within the time for heads: a handshake, say. Arrived ends
// it.
func (l *Line) Await() {
	if d := l.watch.rules.Header; d > 0 {
		l.readBy.Store(l.watch.clock.Load() + int64(d))
	}
}

// Arrived ends what Await began.
func (l *Line) Arrived() { l.readBy.Store(0) }

// Use says that the line carries something that a stop has to let finish. A Conn does so by itself.
func (l *Line) Use() { l.used.Store(true) }

// tell says that the server stops.
func (l *Line) tell() {
	l.told.Store(true)
	switch {
	case l.hijacked.Load():
		l.cancel()
	case !l.used.Load(), l.EndsIdle && l.idle.Load():
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

// Idle says that nothing is asked on the line.
func (l *Line) Idle() {
	if l.EndsIdle {
		l.idle.Store(true)
		if l.told.Load() {
			l.Close()
		}
	}
	if l.place != nil {
		l.place.Idle()
	}
}

// Asked says that something is asked on the line.
func (l *Line) Asked() {
	if l.EndsIdle {
		l.idle.Store(false)
	}
	if !l.used.Load() {
		l.used.Store(true)
	}
	if l.place != nil {
		l.place.Asked()
	}
}

// SyscallConn gives the line's descriptor, if it has one.
func (l *Line) SyscallConn() (syscall.RawConn, error) {
	if l.tcp == nil {
		return nil, errors.ErrUnsupported
	}
	return l.tcp.SyscallConn()
}

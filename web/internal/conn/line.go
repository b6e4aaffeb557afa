package conn

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"weir/serve"
)

// Line is the lowest layer of a connection that is watched: plain bytes, below TLS if there is any.
type Line struct {
	net.Conn
	tcp   *net.TCPConn    // the same when it is TCP
	raw   syscall.RawConn // its descriptor; nil: it has none
	watch *Watch
	place *Place // nil: it is not counted
	index int    // in watch.lines, guarded by watch.mu; -1: not there any more

	// The time of the watch's clock by which the pending read must end; 0: no read is pending, or
	// it has no limit.
	readBy atomic.Int64
	output atomic.Uint32 // outputSent, outputWriting or outputWritten
	// bytes of finished writes, where the kernel does not report what was acknowledged
	wrote atomic.Int64

	// Owned by the watch. Times are of its clock.
	backlogSince int64 // from then on there was always output that was not sent; 0: there is none
	acknowledged int64 // bytes that the client had acknowledged then
	nextCheck    int64

	// cancels the context of a request that may take the line over
	cancelHijacked atomic.Pointer[context.CancelFunc]
	hijacked       atomic.Bool
	isStopping     atomic.Bool // the server stops
	used           atomic.Bool // something was read
	idle           atomic.Bool // no request is under way
	// The stop of the server ends the line while it is idle, because its reader does not notice the
	// stop.
	EndsIdle bool

	// Read does not wait: it is [serve.TryRead]. The goroutine that reads owns it.
	Tries bool

	// closed when the line leaves the watch; nil until Ended is called; guarded by watch.mu
	ended chan struct{}
}

// The states of a line's output.
const (
	outputSent    uint32 = iota // the kernel has sent everything, or nothing was written
	outputWriting               // a write is pending
	outputWritten               // no write is pending, but the kernel may have to send more
)

// pieceSize is the number of bytes that are written at once where progress is seen only when a
// write ends.
const pieceSize = 64 << 10

// Read implements [net.Conn].
func (l *Line) Read(p []byte) (int, error) {
	if l.Tries {
		return serve.TryRead(l.Conn, p)
	}
	return l.Conn.Read(p)
}

// TryRead implements [serve.TryRead].
func (l *Line) TryRead(p []byte) (int, error) { return serve.TryRead(l.Conn, p) }

// Write implements [net.Conn]. The watch ends the line if the client takes less than the rules'
// rate for too long.
func (l *Line) Write(p []byte) (n int, err error) {
	l.Writing()
	defer l.Written()
	if seesArrivals && l.tcp != nil {
		return l.Conn.Write(p)
	}
	return l.writePieces(p)
}

// Writing is called before a write, and Written after it.
func (l *Line) Writing() { l.output.Store(outputWriting) }
func (l *Line) Written() { l.output.Store(outputWritten) }

func (l *Line) writePieces(p []byte) (n int, err error) {
	for {
		m, err := l.Conn.Write(p[n:min(len(p), n+pieceSize)])
		n += m
		l.wrote.Add(int64(m))
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// Close closes the connection.
func (l *Line) Close() error {
	err := l.Conn.Close()
	l.Leave()
	return err
}

// Leave removes the line from the watch: its connection has ended, or the caller ends it.
func (l *Line) Leave() {
	if l.watch.remove(l) && l.place != nil {
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

// abort closes the connection and discards output that the client has not taken.
func (l *Line) abort() {
	if l.raw != nil {
		resetOnClose(l.raw)
	}
	l.Close()
}

// isLate reports whether the client has kept the server waiting for longer than the rules allow.
// Only the watch calls it.
func (l *Line) isLate(now int64, r *Rules) bool {
	if by := l.readBy.Load(); by != 0 && now > by {
		return true
	}
	if l.output.Load() == outputSent || now < l.nextCheck || r.Grace <= 0 {
		return false
	}
	l.nextCheck = now + int64(r.Grace)/4
	return l.takesTooSlowly(now, r)
}

// takesTooSlowly reports whether the client takes a response too slowly: at less than the rate
// during a grace in which there was always more output. The output of a handler that has returned
// counts, too.
func (l *Line) takesTooSlowly(now int64, r *Rules) bool {
	arrived, more := l.arrivals()
	switch {
	case !more:
		l.backlogSince = 0
		l.output.CompareAndSwap(outputWritten, outputSent)
		return false
	case l.backlogSince != 0 && now-l.backlogSince < int64(r.Grace):
		return false
	}
	slow := l.backlogSince != 0 && float64(arrived-l.acknowledged) < float64(r.Rate)*float64(now-l.backlogSince)/1e9
	l.backlogSince, l.acknowledged = now, arrived
	return slow
}

// arrivals returns the number of bytes that the client has acknowledged, as far as that is known.
// more reports whether there is output that was not sent.
func (l *Line) arrivals() (bytes int64, more bool) {
	if l.raw != nil {
		if n, more, ok := acknowledged(l.raw); ok {
			return n, more
		}
	}
	return l.wrote.Load(), l.output.Load() == outputWriting
}

// Await starts the limit for heads: the client must send, for example a handshake. Arrived ends it.
func (l *Line) Await() {
	if d := l.watch.rules.Header; d > 0 {
		l.readBy.Store(l.watch.clock.Load() + int64(d))
	}
}

// Arrived ends the limit that Await has started.
func (l *Line) Arrived() { l.readBy.Store(0) }

// Use makes a stop wait for what the line carries. A Conn calls it by itself.
func (l *Line) Use() { l.used.Store(true) }

// noteStop is called when the server stops.
func (l *Line) noteStop() {
	l.isStopping.Store(true)
	switch {
	case l.hijacked.Load():
		l.cancel()
	case !l.used.Load(), l.EndsIdle && l.idle.Load():
		l.Close()
	}
}

func (l *Line) cancel() {
	if cancel := l.cancelHijacked.Load(); cancel != nil {
		(*cancel)()
	}
}

// takenOver is called when the line does not carry HTTP any more.
func (l *Line) takenOver() {
	l.hijacked.Store(true)
	l.readBy.Store(0)
	if l.isStopping.Load() {
		l.cancel()
	}
}

// Idle is called when no request is under way on the line.
func (l *Line) Idle() {
	if l.EndsIdle {
		l.idle.Store(true)
		if l.isStopping.Load() {
			l.Close()
		}
	}
	if l.place != nil {
		l.place.Idle()
	}
}

// Asked is called when a request begins on the line.
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

// SyscallConn implements [syscall.Conn], for TCP only.
func (l *Line) SyscallConn() (syscall.RawConn, error) {
	if l.tcp == nil {
		return nil, errors.ErrUnsupported
	}
	return l.tcp.SyscallConn()
}

package engine

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// leaveWatch reads a connection while a handler works, in order to notice that the client
// disconnects. The bytes that it reads belong to the next request.
type leaveWatch struct {
	exchange *exchange
	context  *requestContext // canceled when the client disconnects
	conn     net.Conn
	stopping atomic.Bool
	ended    chan struct{} // closed by its goroutine, which then no longer uses the connection
}

// past is a deadline that interrupts a read.
var past = time.Unix(1, 0)

// canWatch reports whether the connection can be watched: another goroutine may read it.
func (x *exchange) canWatch() bool { return x.conn.inner != nil }

// startWatch starts a watch. The exchange's goroutine does not use the input until it is stopped.
func (x *exchange) startWatch(ctx *requestContext) *leaveWatch {
	w := &leaveWatch{exchange: x, context: ctx, conn: x.conn.inner, ended: make(chan struct{})}
	go w.run()
	return w
}

// run reads until something arrives, the connection ends, or stop is called. Other deadlines do not
// concern it.
func (w *leaveWatch) run() {
	defer close(w.ended)
	room := make([]byte, 1)
	for !w.stopping.Load() {
		_ = w.conn.SetReadDeadline(time.Time{}) // fails only if the connection has ended
		if w.stopping.Load() {
			return
		}
		n, err := w.conn.Read(room)
		if n > 0 {
			w.exchange.in = append(w.exchange.in, room[:n]...)
			return
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			w.context.end()
			return
		}
	}
}

// stop ends the watch.
func (w *leaveWatch) stop() {
	w.stopping.Store(true)
	for {
		_ = w.conn.SetReadDeadline(past) // fails only if the connection has ended
		select {
		case <-w.ended:
			w.exchange.conn.reading.stale.Store(true)
			return
		case <-time.After(time.Millisecond): // run has just taken the deadline away
		}
	}
}

package serve

import (
	"net"
	"time"
)

// waiter is a net.Conn that knows how to wait without holding up others.
type waiter interface {
	sleep(d time.Duration) error
	await(f func()) error
}

// Sleep waits for d in a handler, without holding up other connections. c is the net.Conn that the
// handler was given; around one that is wrapped (by TLS, say) it would hold up a loop. It returns
// early, with the reason, when the connection must end, and with ErrStopped when the service stops:
// what has been read can then still be handled and answered, and Read still gives what has arrived.
func Sleep(c net.Conn, d time.Duration) error {
	if w, ok := c.(waiter); ok {
		return w.sleep(d)
	}
	time.Sleep(d)
	return nil
}

// Await calls f and returns when f has: for work in a handler that blocks other than by its
// net.Conn, such as a lock, a channel, a file or a long computation. Where the handler shares a
// loop, f runs in a goroutine of its own while the loop goes on; starting that costs some 60 us of
// waiting on an idle machine. f must not use c. A panic in f is a panic in the handler. When it
// returns an error the connection must end, and f may still be running, or never have been called.
func Await(c net.Conn, f func()) error {
	if w, ok := c.(waiter); ok {
		return w.await(f)
	}
	f()
	return nil
}

package serve

import (
	"net"
	"time"
)

// waiter is a net.Conn that can wait without blocking other connections.
type waiter interface {
	sleep(d time.Duration) error
	await(f func()) error
}

// Sleep waits for d in a handler without delaying other connections. c is the net.Conn that the
// handler received; a wrapped one (by TLS, say) would block its event loop. Sleep returns early
// with the reason when the connection must end, and with ErrStopped when the service stops. The
// handler can then still answer what it has read, and Read still returns what has arrived.
func Sleep(c net.Conn, d time.Duration) error {
	if w, ok := c.(waiter); ok {
		return w.sleep(d)
	}
	time.Sleep(d)
	return nil
}

// Await calls f and returns when f has returned. It is for work in a handler that blocks other than
// by its net.Conn, such as a lock, a channel, a file or a long computation. On an event loop, f
// runs in a goroutine of its own while the loop goes on. Starting that goroutine takes some 60 us
// on an idle machine. f must not use c. A panic in f is a panic in the handler. If Await returns an
// error, the connection must end, and f may still be running or may not have been called.
func Await(c net.Conn, f func()) error {
	if w, ok := c.(waiter); ok {
		return w.await(f)
	}
	f()
	return nil
}

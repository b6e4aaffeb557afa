package serve

import (
	"net"
	"time"
)

// waiter is a net.Conn that can wait without blocking other connections.
type waiter interface {
	sleep(d time.Duration) error
	await(f func()) error
	leaveLoop() (left bool)
	returnToLoop()
	skipLinger()
}

// waiterOf returns the connection of this package in c: c itself, or one that c wraps, as a
// [tls.Conn] does. It returns nil if there is none.
func waiterOf(c net.Conn) waiter {
	for {
		if w, ok := c.(waiter); ok {
			return w
		}
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = outer.NetConn()
	}
}

// Sleep waits for d in a handler without delaying other connections. c is the net.Conn that the
// handler received, or one that wraps it and has a method NetConn, such as a [tls.Conn]. Sleep
// returns early with the reason when the connection must end, and with ErrStopped when the service
// stops. The handler can then still answer what it has read, and Read still returns what has
// arrived.
func Sleep(c net.Conn, d time.Duration) error {
	if w := waiterOf(c); w != nil {
		return w.sleep(d)
	}
	time.Sleep(d)
	return nil
}

// Await is OffLoop with a result. If it returns an error, the connection must end, and f may not
// have been called. f is for work that blocks other than by its net.Conn, such as a lock, a
// channel, a file or a long computation. Starting its goroutine takes some 60 us on an idle
// machine.
func Await(c net.Conn, f func()) error {
	if w := waiterOf(c); w != nil {
		return w.await(f)
	}
	f()
	return nil
}

// OffLoop calls f between [LeaveLoop] and [ReturnToLoop].
func OffLoop(c net.Conn, f func()) {
	if LeaveLoop(c) {
		defer ReturnToLoop(c)
	}
	f()
}

// LeaveLoop is for a part of a handler that blocks, and that uses its net.Conn: a request that is
// forwarded, a TLS handshake, or code that starts goroutines. On an event loop, the handler goes on
// in a goroutine of its own, and the loop serves others. Until [ReturnToLoop], the handler may
// block, and any goroutine may use the connection, as package net permits, and call Sleep, Await
// and OffLoop. Reads and writes cost more than on the loop. c is as for Sleep.
//
// LeaveLoop reports whether the handler has left a loop: not if it was off the loop before, nor in
// models without event loops. The handler should return, or end, before Options.DrainTimeout has
// passed: the connection is closed then. A connection that ends fails every use of it, and its
// handler goes on where it is.
func LeaveLoop(c net.Conn) bool {
	w := waiterOf(c)
	return w != nil && w.leaveLoop()
}

// ReturnToLoop ends what [LeaveLoop] has begun. No other goroutine may use the connection any more,
// except for Close. A handler may also end without it.
func ReturnToLoop(c net.Conn) {
	if w := waiterOf(c); w != nil {
		w.returnToLoop()
	}
}

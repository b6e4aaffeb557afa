package serve

import (
	"net"
	"time"
)

// waiter is a net.Conn that can wait without blocking other connections.
type waiter interface {
	sleep(d time.Duration) error
	await(f func()) error
	offLoop(f func())
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

// Await calls f and returns when f has returned. It is for work in a handler that blocks other than
// by its net.Conn, such as a lock, a channel, a file or a long computation. On an event loop, f
// runs in a goroutine of its own while the loop goes on. c is as for Sleep. Starting that goroutine
// takes some 60 us on an idle machine. f must not use c. A panic in f is a panic in the handler. If
// Await returns an error, the connection must end, and f may still be running or may not have been
// called.
func Await(c net.Conn, f func()) error {
	if w := waiterOf(c); w != nil {
		return w.await(f)
	}
	f()
	return nil
}

// OffLoop calls f and returns when f has returned. It is for a part of a handler that blocks, and
// that uses its net.Conn: a request that is forwarded, or code that starts goroutines of its own.
// On an event loop, f runs in a goroutine of its own while the loop goes on, and until f returns
// any goroutine may use the connection, as package net permits. The coroutine's reads and writes
// are cheaper. c is as for Sleep.
//
// f must return before Options.DrainTimeout has passed, after which the connection is closed. A
// panic in f is a panic in the handler.
func OffLoop(c net.Conn, f func()) {
	if w := waiterOf(c); w != nil {
		w.offLoop(f)
		return
	}
	f()
}

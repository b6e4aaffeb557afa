package serve

import (
	"sync/atomic"
	"syscall"
)

// idler watches for a loop that a connection is not idle. There is none without Options.Idle.
type idler struct {
	idleness
	timer
	passed atomic.Int64 // reads and writes; by the loop and by those who send
}

func (l *loop) watchIdle(c *conn) {
	if l.o.Idle <= 0 {
		return
	}
	c.idle = &idler{timer: timer{place: never, of: c}}
	l.timers.set(&c.idle.timer, l.now()+int64(l.o.Idle/idleLooks))
}

// lookIdle ends the connection if nothing has passed it for too long.
func (l *loop) lookIdle(c *conn) {
	if c.idle.look(c.idle.passed.Load()) {
		c.driver.end(ErrIdle)
		return
	}
	l.timers.set(&c.idle.timer, l.now()+int64(l.o.Idle/idleLooks))
}

// Keep-alive as package net has it (net.KeepAliveConfig).
const (
	keepAliveSeconds = 15 // until the first probe, and between probes
	keepAliveProbes  = 9
)

// prepareSocket sets what package net sets on a TCP connection that it accepts. It fails,
// harmlessly, on what is not TCP. What is accepted from a listener has the listener's settings.
func prepareSocket(fd int) {
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, keepAliveSeconds)
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, keepAliveSeconds)
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveProbes)
}

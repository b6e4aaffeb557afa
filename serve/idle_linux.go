package serve

import (
	"sync/atomic"
	"syscall"
)

// loopIdle detects that a connection of a loop is idle. It is nil without Options.IdleTimeout.
type loopIdle struct {
	idleDetector
	timer
	transfers atomic.Int64 // reads and writes, by the loop and by senders
}

func (l *loop) watchIdle(c *conn) {
	if l.options.IdleTimeout <= 0 {
		return
	}
	c.idleCheck = &loopIdle{timer: timer{index: unset, conn: c}}
	l.timers.set(&c.idleCheck.timer, l.now()+int64(l.options.IdleTimeout/idleChecks))
}

// checkIdle ends the connection if it has transferred nothing for too long.
func (l *loop) checkIdle(c *conn) {
	if c.idleCheck.check(c.idleCheck.transfers.Load()) {
		c.driver.end(ErrIdle)
		return
	}
	l.timers.set(&c.idleCheck.timer, l.now()+int64(l.options.IdleTimeout/idleChecks))
}

// TCP keep-alive as package net sets it (net.KeepAliveConfig).
const (
	keepAliveSeconds = 15 // until the first probe, and between probes
	keepAliveProbes  = 9
)

// setSocketOptions sets the options that package net sets on an accepted TCP connection. It fails,
// harmlessly, on sockets other than TCP. Accepted sockets inherit the listener's options.
func setSocketOptions(fd int) {
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, keepAliveSeconds)
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, keepAliveSeconds)
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveProbes)
}

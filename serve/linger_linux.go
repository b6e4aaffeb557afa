package serve

import (
	"container/list"
	"os"
	"syscall"
	"time"
	"unsafe"

	"weir/serve/lifecycle"
)

// lingeringConn runs the lingering close of a loop's connection whose session or handler has ended.
type lingeringConn struct {
	*conn
	linger  lifecycle.Linger
	ended   bool          // the peer has finished, or the connection is broken
	element *list.Element // position in the loop's lingering list
}

// finish ends the connection for its driver: by a lingering close if output could be lost.
func (c *conn) finish() {
	if c.state != connServing {
		return
	}
	c.state = connLingering
	c.outbox.close()
	c.unsetTimers()
	if c.noLinger || !c.hasOutput.Load() || !lingers(c.remote) || syscall.Shutdown(c.fd, syscall.SHUT_WR) != nil {
		c.close()
		return
	}
	l := &lingeringConn{conn: c, linger: lifecycle.NewLinger(c.loop.lifeTime(), c.loop.options.LingerTimeout)}
	c.driver = l
	if l.element = c.loop.lingering.PushBack(l); c.loop.lingering.Len() > maxLingering {
		c.loop.lingering.Front().Value.(*lingeringConn).close()
	}
	c.readable = true
	c.loop.deferRead(c)
}

// resetAtClose makes the close of the connection reset it, without a lingering close.
func (c *conn) resetAtClose() {
	c.noLinger = true
	// it has no effect on a Unix socket
	_ = syscall.SetsockoptLinger(c.fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
}

// close closes the connection.
func (l *lingeringConn) close() {
	l.loop.lingering.Remove(l.element)
	l.conn.close()
}

// cutLingering closes the connections in a lingering close to free their descriptors.
func (l *loop) cutLingering() {
	for l.lingering.Len() > 0 {
		l.lingering.Front().Value.(*lingeringConn).close()
	}
}

// onReadable implements driver. It discards input that has arrived, at most readsPerTurn reads.
func (l *lingeringConn) onReadable() {
	if l.readDeferred {
		return
	}
	now := l.loop.lifeTime()
	for range readsPerTurn {
		step, until := l.linger.Next(now, l.facts())
		switch step {
		case lifecycle.Finish:
			l.close()
			return
		case lifecycle.Wait:
			l.loop.timers.set(&l.timer, int64(until))
			return
		}
		n, errno := discard(l.fd, l.linger.Left())
		l.linger.Discarded(n)
		l.readable = errno != syscall.EAGAIN
		l.ended = l.readable && (errno != 0 || n == 0)
	}
	l.loop.deferRead(l.conn)
}

// facts returns what the loop knows of the connection.
func (l *lingeringConn) facts() lifecycle.Facts {
	f := lifecycle.When(l.ended, lifecycle.Broken) | lifecycle.When(l.readable, lifecycle.InputReady)
	if l.loop.drainDeadline == 0 {
		return f
	}
	return f | lifecycle.Stopping | lifecycle.When(!l.readable && l.inFlight(), lifecycle.OutputQueued)
}

func (l *lingeringConn) onTimer(time.Time) { l.onReadable() }

// handOver implements driver. A lingering close is not handed over.
func (l *lingeringConn) handOver() {}

func (l *lingeringConn) onWritable()      {}
func (l *lingeringConn) onPost(time.Time) {}
func (l *lingeringConn) end(error)        { l.close() }

// discard makes the kernel drop up to max bytes that a TCP socket has received (tcp(7), MSG_TRUNC).
func discard(fd, max int) (int, syscall.Errno) {
	var b [1]byte
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b)), uintptr(max),
		syscall.MSG_TRUNC|syscall.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// brokenError returns why the connection broke.
func (c *conn) brokenError() error {
	c.noLinger = true
	if err := socketError(uintptr(c.fd)); err != nil {
		return os.NewSyscallError("read", err)
	}
	return os.NewSyscallError("read", syscall.ECONNRESET)
}

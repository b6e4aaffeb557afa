package serve

import (
	"container/list"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// lingeringConn runs the lingering close of a loop's connection whose session or handler has ended.
type lingeringConn struct {
	*conn
	discardLeft int           // bytes that may still be discarded
	deadline    int64         // when to close in any case, in loop time
	element     *list.Element // position in the loop's lingering list
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
	l := &lingeringConn{conn: c, discardLeft: maxDiscard, deadline: c.loop.now() + int64(c.loop.options.LingerTimeout)}
	c.driver = l
	if l.element = c.loop.lingering.PushBack(l); c.loop.lingering.Len() > maxLingering {
		c.loop.lingering.Front().Value.(*lingeringConn).close()
	}
	l.setDeadline()
	c.readable = true
	c.loop.deferRead(c)
}

// setDeadline sets the timer for the bound, or for lingerPoll while the loop stops.
func (l *lingeringConn) setDeadline() {
	at := l.deadline
	if l.loop.drainDeadline != 0 {
		at = min(at, l.loop.now()+int64(lingerPoll))
	}
	l.loop.timers.set(&l.timer, at)
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
	for range readsPerTurn {
		n, errno := discard(l.fd, l.discardLeft)
		if l.discardLeft -= n; errno == syscall.EAGAIN {
			l.readable = false
			switch {
			case l.loop.drainDeadline == 0:
			case l.inFlight():
				l.setDeadline()
			default:
				l.close()
			}
			return
		}
		if errno != 0 || n == 0 || l.discardLeft <= 0 {
			l.close()
			return
		}
	}
	l.loop.deferRead(l.conn)
}

func (l *lingeringConn) onTimer(time.Time) {
	if l.loop.now() >= l.deadline {
		l.close()
		return
	}
	l.setDeadline()
	l.onReadable()
}

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

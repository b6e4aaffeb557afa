package serve

import (
	"container/list"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// lingerer drives the lingering close of a loop's connection, whose session or handler has ended.
type lingerer struct {
	*conn
	left  int           // bytes that are still discarded
	until int64         // when to close in any case, in loop time
	place *list.Element // in the loop's lingering
}

// finish ends the connection for its driver: by a lingering close where output could be lost.
func (c *conn) finish() {
	if c.ended {
		return
	}
	c.ended = true
	c.out.close()
	c.unsetTimers()
	if c.over || !c.output.Load() || !lingers(c.remote) || syscall.Shutdown(c.fd, syscall.SHUT_WR) != nil {
		c.close()
		return
	}
	l := &lingerer{conn: c, left: lingerBytes, until: c.l.now() + int64(c.l.o.LingerClose)}
	c.driver = l
	if l.place = c.l.lingering.PushBack(l); c.l.lingering.Len() > lingerMost {
		c.l.lingering.Front().Value.(*lingerer).close()
	}
	l.wait()
	c.readable = true
	c.l.later(c)
}

// wait sets the timer for the bound, or sooner while the loop stops.
func (l *lingerer) wait() {
	at := l.until
	if l.l.deadline != 0 {
		at = min(at, l.l.now()+int64(lingerPoll))
	}
	l.l.timers.set(&l.timer, at)
}

// close closes the connection.
func (l *lingerer) close() {
	l.l.lingering.Remove(l.place)
	l.conn.close()
}

// cutLingering closes the connections that only linger: their descriptors are wanted.
func (l *loop) cutLingering() {
	for l.lingering.Len() > 0 {
		l.lingering.Front().Value.(*lingerer).close()
	}
}

// ready implements driver: it discards what has arrived, some of it in this turn.
func (l *lingerer) ready() {
	if l.queued {
		return
	}
	for range readsPerTurn {
		n, errno := discard(l.fd, l.left)
		if l.left -= n; errno == syscall.EAGAIN {
			l.readable = false
			switch {
			case l.l.deadline == 0:
			case l.inFlight():
				l.wait()
			default:
				l.close()
			}
			return
		}
		if errno != 0 || n == 0 || l.left <= 0 {
			l.close()
			return
		}
	}
	l.l.later(l.conn)
}

func (l *lingerer) due(time.Time) {
	if l.l.now() >= l.until {
		l.close()
		return
	}
	l.wait()
	l.ready()
}

// handOver implements driver: the loop's stop goes on as any other.
func (l *lingerer) handOver() {}

func (l *lingerer) writable()       {}
func (l *lingerer) woken(time.Time) {}
func (l *lingerer) end(error)       { l.close() }

// discard has the kernel drop up to max bytes of what a TCP socket has received (tcp(7),
// MSG_TRUNC).
func discard(fd, max int) (int, syscall.Errno) {
	var b [1]byte
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b)), uintptr(max),
		syscall.MSG_TRUNC|syscall.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// failure is why the connection broke.
func (c *conn) failure() error {
	c.over = true
	if err := socketError(uintptr(c.fd)); err != nil {
		return os.NewSyscallError("read", err)
	}
	return os.NewSyscallError("read", syscall.ECONNRESET)
}

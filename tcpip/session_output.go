package tcpip

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"weir/serve/lifecycle"
	"weir/tcpip/tcp"
)

// outputAccount accounts for the output of sessions that their connections' send buffers had no
// room for. It counts against Config.Memory; one address may use a quarter of that. When memory
// runs out, the session is evicted whose peer has accepted nothing for the longest time.
type outputAccount struct {
	s *Stack

	mu         sync.Mutex // only the budget is used under it
	perPeer    map[netip.Addr]int
	byProgress list.List // of *sessionConn, by lastProgressAt
}

// stallTime is how long a peer must have accepted nothing before its session may be evicted.
const stallTime = 2 * time.Second

// resizeLocked changes the bytes charged for v's output, and reports whether there is room. The
// caller holds the lock of v's connection.
func (u *outputAccount) resizeLocked(v *sessionConn, size int, now tcp.Time) bool {
	more := size - v.chargedBytes
	if more == 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	peer := v.c.key.remote.Addr()
	if more > 0 {
		if u.perPeer[peer]+more > int(u.s.budget.total/4) {
			return false
		}
		for !u.s.budget.charge(more, size) {
			if !u.evictLocked(v, now) {
				return false
			}
		}
	}
	u.countLocked(v, more, now)
	return true
}

// countLocked updates the account. The caller holds mu.
func (u *outputAccount) countLocked(v *sessionConn, more int, now tcp.Time) {
	if u.perPeer == nil {
		u.perPeer = map[netip.Addr]int{}
	}
	peer := v.c.key.remote.Addr()
	v.chargedBytes += more
	if u.perPeer[peer] += more; u.perPeer[peer] == 0 {
		delete(u.perPeer, peer)
	}
	if more < 0 {
		u.s.budget.refund(-more)
	}
	switch {
	case v.chargedBytes == 0:
		u.byProgress.Remove(v.orderElement)
		v.orderElement = nil
	case v.orderElement == nil:
		v.orderElement, v.lastProgressAt = u.byProgress.PushBack(v), now
	}
}

// noteProgress records that v's peer has accepted some output.
func (u *outputAccount) noteProgress(v *sessionConn, now tcp.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	v.lastProgressAt = now
	if v.orderElement != nil {
		u.byProgress.MoveToBack(v.orderElement)
	}
}

// evictLocked ends the session that has stalled for the longest time, and reports whether there was
// one. The caller holds mu and the lock of by's connection.
func (u *outputAccount) evictLocked(by *sessionConn, now tcp.Time) bool {
	for e := u.byProgress.Front(); e != nil; e = e.Next() {
		v := e.Value.(*sessionConn)
		if now.Sub(v.lastProgressAt) < stallTime {
			return false
		}
		if v == by || !v.c.mu.TryLock() { // the holder of that lock may wait for mu
			continue
		}
		u.countLocked(v, -v.chargedBytes, now)
		v.overflowLocked()
		v.c.mu.Unlock()
		return true
	}
	return false
}

// overflowLocked ends a session whose output exceeds the memory. Its connection is reset, because
// truncated output must not look complete. The caller holds the connection's lock.
func (v *sessionConn) overflowLocked() {
	v.unsentOutput, v.stopError, v.resetAtEnd = nil, syscall.ENOBUFS, true
	v.c.reader.queueConn(v.c)
}

// sendWaiting sends output that waits, and the FIN behind it.
func (v *sessionConn) sendWaiting(now tcp.Time) {
	if len(v.unsentOutput) > 0 && v.send(now, nil) && v.life.HasEnded() {
		v.life.Progressed(lifecycle.Time(now), v.server.o.FlushTimeout)
	}
	if v.finWanted && len(v.unsentOutput) == 0 {
		v.c.tcp.CloseWrite(now)
		v.finQueued = true
	}
}

// send sends p after the output that waits, and reports whether the send buffer accepted any. The
// rest waits; if there is no memory for it, the session ends.
func (v *sessionConn) send(now tcp.Time, p []byte) (some bool) {
	if v.finQueued {
		p = nil
	}
	waited, n := len(v.unsentOutput), len(p)
	if waited > 0 {
		v.unsentOutput = v.write(now, v.unsentOutput)
		some = len(v.unsentOutput) < waited
	}
	if len(v.unsentOutput) == 0 {
		p = v.write(now, p)
		some = some || len(p) < n
	}
	if waited > 0 && some {
		v.c.s.outputAccount.noteProgress(v, now)
	}
	if (waited > 0 || len(p) > 0) && !v.queueOutput(p, now) {
		v.releaseOutput()
		v.overflowLocked()
	}
	return some
}

// write puts as much of p into the send buffer as fits, and returns the rest.
func (v *sessionConn) write(now tcp.Time, p []byte) []byte {
	for k := 1; len(p) > 0 && k > 0; p = p[k:] {
		k = v.c.tcp.Write(now, p)
	}
	return p
}

// queueOutput appends p to the waiting output, whose capacity stays within twice its length. It
// reports whether there is memory for it.
func (v *sessionConn) queueOutput(p []byte, now tcp.Time) bool {
	size, room := len(v.unsentOutput)+len(p), v.chargedBytes
	switch {
	case cap(v.unsentOutput) < size:
		room = size + len(v.unsentOutput)/2 // more output may follow
	case size <= v.chargedBytes/2:
		room = size
	}
	if room != v.chargedBytes {
		if !v.c.s.outputAccount.resizeLocked(v, room, now) {
			return false
		}
		v.unsentOutput = append(make([]byte, 0, room), v.unsentOutput...)
	}
	v.unsentOutput = append(v.unsentOutput, p...)
	return true
}

// releaseOutput frees the memory of the waiting output.
func (v *sessionConn) releaseOutput() {
	v.unsentOutput = nil
	v.c.s.outputAccount.resizeLocked(v, 0, 0)
}

// Unacknowledged returns how many bytes the session has sent and the peer has not acknowledged, for
// [serve.Delivered]. Any goroutine may call it.
func (v *sessionConn) Unacknowledged() int {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	info := v.c.tcp.Info(v.c.s.now())
	return len(v.unsentOutput) + info.Unsent + info.InFlight
}

// Send implements serve.Conn. It reports whether p was accepted for sending.
func (v *sessionConn) Send(p []byte) bool {
	c := v.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.life.HasEnded() || v.finWanted || v.stopError != nil || c.tcp.State() == tcp.Closed || len(v.unsentOutput) > 0 && len(v.unsentOutput)+len(p) > v.server.o.SendQueue {
		return false
	}
	now := c.s.now()
	v.send(now, nil)
	if len(v.unsentOutput) > 0 && !v.queueOutput(p, now) {
		return false
	} else if len(v.unsentOutput) == 0 {
		v.send(now, p)
	}
	c.flushLocked(now)
	return v.stopError == nil
}

// CloseWrite ends the output of the session: a FIN follows what it has sent, the output of a call
// that is running included. Its input goes on; its later output is discarded. Any goroutine may
// call it.
func (v *sessionConn) CloseWrite() error {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	if v.life.HasEnded() || v.c.tcp.State() == tcp.Closed {
		return v.c.wrap("close", net.ErrClosed)
	}
	v.finWanted = true
	if !v.c.turnPending {
		v.c.reader.queueConn(v.c)
	}
	return nil
}

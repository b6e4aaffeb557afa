package tcpip

import (
	"container/list"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"weir/tcpip/tcp"
)

// unsent is the output of sessions that their connections' buffers had no room for. It counts
// against Config.Memory. One address may have a quarter of that. When there is no room for more,
// the sessions whose peers have taken nothing for the longest time are ended.
type unsent struct {
	s *Stack

	mu    sync.Mutex // a leaf, but for the budget
	of    map[netip.Addr]int
	order list.List // of *served, by when the peer last took something
}

// stalled is how long a peer has taken nothing whose session may be ended so that others have
// memory.
const stalled = 2 * time.Second

// resize has v's output count for so many bytes, and reports whether there is room. The caller
// holds v's connection's lock.
func (u *unsent) resize(v *served, size int, now tcp.Time) bool {
	more := size - v.counted
	if more == 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	peer := v.c.key.remote.Addr()
	if more > 0 {
		if u.of[peer]+more > int(u.s.budget.all/4) {
			return false
		}
		for !u.s.budget.charge(more, size) {
			if !u.evict(v, now) {
				return false
			}
		}
	}
	u.count(v, more, now)
	return true
}

// count notes what has changed. The caller holds mu.
func (u *unsent) count(v *served, more int, now tcp.Time) {
	if u.of == nil {
		u.of = map[netip.Addr]int{}
	}
	peer := v.c.key.remote.Addr()
	v.counted += more
	if u.of[peer] += more; u.of[peer] == 0 {
		delete(u.of, peer)
	}
	if more < 0 {
		u.s.budget.refund(-more)
	}
	switch {
	case v.counted == 0:
		u.order.Remove(v.place)
		v.place = nil
	case v.place == nil:
		v.place, v.tookAt = u.order.PushBack(v), now
	}
}

// took notes that v's peer has taken something.
func (u *unsent) took(v *served, now tcp.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	v.tookAt = now
	if v.place != nil {
		u.order.MoveToBack(v.place)
	}
}

// evict ends the session that has stalled for the longest time, and reports whether there was one.
// The caller holds mu, and the lock of by's connection.
func (u *unsent) evict(by *served, now tcp.Time) bool {
	for e := u.order.Front(); e != nil; e = e.Next() {
		v := e.Value.(*served)
		if now.Sub(v.tookAt) < stalled {
			return false
		}
		if v == by || !v.c.mu.TryLock() { // who holds that lock may wait for mu
			continue
		}
		u.count(v, -v.counted, now)
		v.overflow()
		v.c.mu.Unlock()
		return true
	}
	return false
}

// overflow ends a session whose output there is no memory for. The connection is reset: its peer is
// not to take what came for all. The caller holds the connection's lock.
func (v *served) overflow() {
	v.rest, v.failed, v.truncated = nil, syscall.ENOBUFS, true
	v.c.lane.post(v.c)
}

// send has bytes sent behind those that wait, and reports whether the connection's buffer took any.
// What is left of them waits; when there is no memory for that, the session ends.
func (v *served) send(now tcp.Time, p []byte) (some bool) {
	waited, n := len(v.rest), len(p)
	if waited > 0 {
		v.rest = v.write(now, v.rest)
		some = len(v.rest) < waited
	}
	if len(v.rest) == 0 {
		p = v.write(now, p)
		some = some || len(p) < n
	}
	if waited > 0 && some {
		v.c.s.unsent.took(v, now)
	}
	if (waited > 0 || len(p) > 0) && !v.await(p, now) {
		v.release()
		v.overflow()
	}
	return some
}

// write gives the connection's buffer what it has room for, and gives what is left.
func (v *served) write(now tcp.Time, p []byte) []byte {
	for k := 1; len(p) > 0 && k > 0; p = p[k:] {
		k = v.c.tcp.Write(now, p)
	}
	return p
}

// await has bytes wait behind those that do, in at most twice the memory that they need, and
// reports whether there is any.
func (v *served) await(p []byte, now tcp.Time) bool {
	size, room := len(v.rest)+len(p), v.counted
	switch {
	case cap(v.rest) < size:
		room = size + len(v.rest)/2 // who has more to say may have more still
	case size <= v.counted/2:
		room = size
	}
	if room != v.counted {
		if !v.c.s.unsent.resize(v, room, now) {
			return false
		}
		v.rest = append(make([]byte, 0, room), v.rest...)
	}
	v.rest = append(v.rest, p...)
	return true
}

// release gives back the memory of output that waits no longer.
func (v *served) release() {
	v.rest = nil
	v.c.s.unsent.resize(v, 0, 0)
}

// Send implements serve.Conn.
func (v *served) Send(p []byte) bool {
	c := v.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.over || v.failed != nil || c.tcp.State() == tcp.Closed || len(v.rest) > 0 && len(v.rest)+len(p) > v.server.o.SendQueue {
		return false
	}
	now := c.s.now()
	v.send(now, nil)
	if len(v.rest) > 0 && !v.await(p, now) {
		return false
	} else if len(v.rest) == 0 {
		v.send(now, p)
	}
	c.flush(now)
	return v.failed == nil
}

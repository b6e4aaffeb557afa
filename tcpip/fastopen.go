package tcpip

import (
	"crypto/subtle"
	"encoding/binary"
	"sync"
	"time"

	"weir/tcpip/tcp"
	"weir/wire"
)

// This file is the server's side of TCP Fast Open (RFC 7413); fastopen_client.go is the client's.
//
// A cookie is a hash of the client's and the server's address with a key of the stack and the
// number of the current period. So a new period has a new key, without any state; a cookie of the
// period before is still valid, and its client is granted a new one.

const (
	// fastOpenPeriod is how long cookies are granted with the same key.
	fastOpenPeriod = 6 * time.Hour
	// fastOpenResetTime is how long a connection counts as pending after a RST has ended it.
	// Otherwise a forged RST would make room for the next forged SYN (RFC 7413, section 5.1).
	fastOpenResetTime = time.Minute
)

// fastOpenQueue counts the connections of a listener that the application has before their
// handshake is complete.
type fastOpenQueue struct {
	limit int // of pending connections; 0: no Fast Open. Immutable

	mu      sync.Mutex // no other lock is taken under it
	pending int
	resets  []tcp.Time // until when pending connections that were reset count, ascending
}

// begin counts a connection, and reports whether there is room for it.
func (q *fastOpenQueue) begin(now tcp.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.resets) > 0 && q.resets[0] <= now {
		q.resets = q.resets[1:]
	}
	if q.pending+len(q.resets) >= q.limit {
		return false
	}
	q.pending++
	return true
}

// end counts a connection whose handshake is complete or has failed; wasReset says that a RST has
// ended it.
func (q *fastOpenQueue) end(wasReset bool, now tcp.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending--
	if wasReset {
		q.resets = append(q.resets, now.Add(fastOpenResetTime))
	}
}

// count returns how many connections are pending, or have been reset a short time ago.
func (q *fastOpenQueue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pending + len(q.resets)
}

// fastOpenCookie returns the cookie that a period has for the other end of a connection.
func (s *Stack) fastOpenCookie(k tuple, period uint32) (c wire.FastOpenCookie) {
	local, remote := k.local.Addr().As16(), k.remote.Addr().As16()
	var name [37]byte
	copy(name[:], remote[:])
	copy(name[16:], local[:])
	name[32] = 'f'
	binary.BigEndian.PutUint32(name[33:], period)
	binary.BigEndian.PutUint64(c.Bytes[:], siphash(&s.secret, name[:]))
	c.Length = 8
	return c
}

// checkFastOpenCookie checks the cookie of a SYN. It returns the one that the SYN,ACK must grant;
// empty: none, because the client has it.
func (s *Stack) checkFastOpenCookie(k tuple, c wire.FastOpenCookie, now tcp.Time) (grant wire.FastOpenCookie, valid bool) {
	period := uint32(time.Duration(now) / fastOpenPeriod)
	equal := func(a wire.FastOpenCookie) bool {
		return c.Length == a.Length && subtle.ConstantTimeCompare(c.Bytes[:], a.Bytes[:]) == 1
	}
	current := s.fastOpenCookie(k, period)
	if equal(current) {
		return grant, true
	}
	return current, period > 0 && equal(s.fastOpenCookie(k, period-1))
}

// acceptSYN returns the state of a connection that a SYN opens. If the SYN has a valid cookie and
// the listener's limits allow it, the application can have the connection at once.
func (c *Conn) acceptSYN(l *Listener, iss wire.Seq, stamp uint32, syn *tcp.Segment, now tcp.Time) *tcp.Conn {
	if l.fastOpens.limit == 0 || !syn.Options.HasFastOpen || !l.fastOpens.begin(now) {
		return tcp.Accept(c.cfg, iss, stamp, syn, now)
	}
	grant, valid := c.s.checkFastOpenCookie(c.key, syn.Options.FastOpen, now)
	c.acceptReserved = valid && l.reserve(c.client)
	state := tcp.AcceptFastOpen(c.cfg, iss, stamp, syn, grant, c.acceptReserved, now)
	if !state.Accepted() {
		c.stopFastOpen(l, now)
	}
	return state
}

// stopFastOpen frees the places of a connection that does not use Fast Open after all.
func (c *Conn) stopFastOpen(l *Listener, now tcp.Time) {
	l.fastOpens.end(false, now)
	if c.acceptReserved {
		c.acceptReserved = false
		l.release(c.client)
	}
}

// handOverEarly gives a connection whose SYN had a valid cookie to Accept or to a session, before
// the SYN,ACK is sent. The listener still counts its handshake.
func (c *Conn) handOverEarly(now tcp.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listener
	c.listener, c.earlyListener = nil, l
	c.applyPathMTULocked(now)
	if !c.handOverLocked(l) {
		l.release(c.client)
		c.tcp.Abort(now)
		c.closedByApp = true
	}
}

// endEarlyLocked ends the listener's count of a connection that the application had early, when
// its handshake is complete or has failed. The caller holds mu.
func (c *Conn) endEarlyLocked(now tcp.Time) {
	if l := c.earlyListener; l != nil {
		c.earlyListener = nil
		l.endHandshake()
		l.fastOpens.end(c.tcp.Cause() == tcp.Reset, now)
	}
}

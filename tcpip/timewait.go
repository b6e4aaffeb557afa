package tcpip

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"time"

	"weir/tcpip/tcp"
	"weir/wire"
)

// timeWaitTable has the connections in TIME-WAIT, which need little state. At its limit the oldest
// are evicted.
type timeWaitTable struct {
	s     *Stack
	limit int

	mu         sync.Mutex
	entries    map[compactTuple]timeWaitEntry
	expiry     []expiryEntry // in the order of arrival, which is about the order of expiry
	expiryHead int           // index of the first live entry of expiry
	timer      *time.Timer   // calls expire; nil before the first entry
	closed     bool

	evicted uint64 // entries evicted because the table was full
}

// issFloor is the least initial sequence number of a connection that reuses a tuple from TIME-WAIT
// (RFC 6191). The zero value sets no floor.
type issFloor struct {
	valid bool
	seq   wire.Seq
}

// atLeast returns the initial sequence number: chosen, or the floor if that is later.
func (f issFloor) atLeast(chosen wire.Seq) wire.Seq {
	if f.valid && chosen.Less(f.seq) {
		return f.seq
	}
	return chosen
}

// timeWaitEntry is a connection in TIME-WAIT.
type timeWaitEntry struct {
	tcp.TimeWaitConn
	cfg *tcp.Config
	// until of its entry in expiry: others with its tuple are stale
	listedUntil tcp.Time
}

// compactTuple is a tuple in 38 bytes: local and remote address (IPv4 as IPv4-mapped), local and
// remote port, and the number of the zone of both addresses.
type compactTuple [38]byte

// compact returns the compact form of a tuple.
func (s *Stack) compact(k tuple) (n compactTuple) {
	local, remote := k.local.Addr().As16(), k.remote.Addr().As16()
	copy(n[:], local[:])
	copy(n[16:], remote[:])
	binary.BigEndian.PutUint16(n[32:], k.local.Port())
	binary.BigEndian.PutUint16(n[34:], k.remote.Port())
	if zone := k.remote.Addr().Zone(); zone != "" {
		binary.BigEndian.PutUint16(n[36:], uint16(s.zoneNumber(zone)))
	}
	return n
}

// expand returns the tuple of a compact form.
func (s *Stack) expand(n *compactTuple) tuple {
	zone := s.zoneName(int(binary.BigEndian.Uint16(n[36:])))
	addr := func(b []byte) netip.Addr { return withZone(netip.AddrFrom16([16]byte(b)).Unmap(), zone) }
	return tuple{netip.AddrPortFrom(addr(n[:16]), binary.BigEndian.Uint16(n[32:])), netip.AddrPortFrom(addr(n[16:32]), binary.BigEndian.Uint16(n[34:]))}
}

// expiryEntry is when an entry expired as of the time of its insertion.
type expiryEntry struct {
	name  compactTuple
	until tcp.Time
}

// minSweepInterval is the minimum time between two runs of expire.
const minSweepInterval = time.Second

// add adds a connection in TIME-WAIT.
func (w *timeWaitTable) add(k tuple, cfg *tcp.Config, wait tcp.TimeWaitConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for len(w.entries) >= w.limit {
		w.evictOldest()
		w.evicted++
	}
	if w.entries == nil {
		w.entries = map[compactTuple]timeWaitEntry{}
	}
	name := w.s.compact(k)
	w.push(name, timeWaitEntry{TimeWaitConn: wait, cfg: cfg})
	if len(w.entries) == 1 {
		w.armTimer(w.s.now())
	}
}

// push adds an entry and its expiry. It first compacts expiry if more than half of it is stale.
func (w *timeWaitTable) push(name compactTuple, x timeWaitEntry) {
	if gone := len(w.expiry) - len(w.entries); gone > 1024 && gone > len(w.expiry)/2 {
		w.expiry = slices.DeleteFunc(append(w.expiry[:0], w.expiry[w.expiryHead:]...), func(e expiryEntry) bool { return !w.isCurrent(e) })
		w.expiryHead = 0
	}
	x.listedUntil = x.ExpiresAt
	w.entries[name] = x
	w.expiry = append(w.expiry, expiryEntry{name, x.ExpiresAt})
}

// isCurrent reports whether an element of expiry is still that of its entry.
func (w *timeWaitTable) isCurrent(e expiryEntry) bool {
	x, ok := w.entries[e.name]
	return ok && x.listedUntil == e.until
}

// evictOldest removes the oldest entry.
func (w *timeWaitTable) evictOldest() {
	for w.expiryHead < len(w.expiry) {
		e := w.expiry[w.expiryHead]
		w.expiryHead++
		if w.isCurrent(e) {
			delete(w.entries, e.name)
			return
		}
	}
}

// armTimer sets the timer for the first expiry.
func (w *timeWaitTable) armTimer(now tcp.Time) {
	wait := max(w.expiry[w.expiryHead].until.Sub(now), minSweepInterval)
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.expire) // until close
		return
	}
	w.timer.Reset(wait)
}

// expire removes the entries whose time is over. A retransmitted FIN has extended the time of some.
func (w *timeWaitTable) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.s.now()
	for w.expiryHead < len(w.expiry) && w.expiry[w.expiryHead].until <= now {
		e := w.expiry[w.expiryHead]
		w.expiryHead++
		if !w.isCurrent(e) {
			continue
		}
		if x := w.entries[e.name]; x.ExpiresAt > now {
			w.push(e.name, x)
			continue
		}
		delete(w.entries, e.name)
	}
	if len(w.entries) == 0 {
		w.entries, w.expiry, w.expiryHead = nil, nil, 0
		return
	}
	if !w.closed {
		w.armTimer(now)
	}
}

// close removes all entries.
func (w *timeWaitTable) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.entries, w.expiry, w.expiryHead = nil, nil, 0
	if w.timer != nil {
		w.timer.Stop()
	}
}

// receiveSegment handles a segment that matches no connection, if its tuple is in TIME-WAIT: then
// taken is true. A SYN that may open a new connection at a listener removes the entry instead. Then
// floor is the least initial sequence number of the new connection (RFC 6191).
func (w *timeWaitTable) receiveSegment(k tuple, seg *tcp.Segment, listened bool, now tcp.Time) (taken bool, floor issFloor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := w.s.compact(k)
	x, ok := w.entries[name]
	if !ok {
		return false, floor
	}
	if listened && seg.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN && x.CanReopen(seg) {
		delete(w.entries, name)
		return false, issFloor{true, x.NextISS()}
	}
	if x.Arrive(x.cfg, now, seg) {
		o := x.Answer(now)
		w.s.sendStateless(k, &o)
	}
	w.entries[name] = x
	return true, floor
}

// claimTuple reports whether a connection with the tuple k may be dialed. A tuple in TIME-WAIT may
// be reused if reuse allows it and it is safe; its entry is then removed. On the loopback the
// reversed tuple must be free too, because the stack is both ends.
func (w *timeWaitTable) claimTuple(k tuple, reuse, loopback bool, now tcp.Time) (free bool, floor issFloor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if loopback {
		if x, ok := w.entries[w.s.compact(tuple{k.remote, k.local})]; ok && !x.TimestampAdvanced(now) {
			return false, floor
		}
	}
	name := w.s.compact(k)
	x, ok := w.entries[name]
	switch {
	case !ok:
		return true, floor
	case loopback && !x.TimestampAdvanced(now), !loopback && !(reuse && x.CanDial(x.cfg, now)):
		return false, floor
	}
	delete(w.entries, name)
	return true, issFloor{true, x.NextISS()}
}

// TimeWaits returns how many connections are in TIME-WAIT, and how many were evicted early because
// there were more than Config.MaxTimeWait.
func (s *Stack) TimeWaits() (now int, evicted uint64) {
	s.timeWaits.mu.Lock()
	defer s.timeWaits.mu.Unlock()
	return len(s.timeWaits.entries), s.timeWaits.evicted
}

// all returns all entries.
func (w *timeWaitTable) all() (all []ConnInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range w.entries {
		k := w.s.expand(&n)
		all = append(all, ConnInfo{Local: k.local, Remote: k.remote, Info: tcp.Info{State: tcp.TimeWait}})
	}
	return all
}

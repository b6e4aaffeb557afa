package tcpip

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"weir/tcpip/tcp"
	"weir/wire"
)

// waits are connections in TIME-WAIT, of which little has to be kept. There is a bound on how many:
// of more, those that have waited longest are forgotten.
type waits struct {
	s    *Stack
	most int

	mu     sync.Mutex
	of     map[waitName]waiting
	order  []waitEnd   // as they came, which is about the order in which they end
	first  int         // of order; what is before it is done with
	timer  *time.Timer // calls expire; nil: none was needed yet
	closed bool

	forgotten uint64 // for want of room
}

// follower is where the stream of a connection has to begin that takes the name of one in
// TIME-WAIT. The zero value is one that takes nobody's.
type follower struct {
	of     bool
	behind wire.Seq
}

// iss is the initial sequence number, for one that would be chosen otherwise.
func (f follower) iss(chosen wire.Seq) wire.Seq {
	if f.of && chosen.Less(f.behind) {
		return f.behind
	}
	return chosen
}

// waiting is a connection in TIME-WAIT.
type waiting struct {
	tcp.TimeWaitConn
	cfg *tcp.Config
	// at which of its ends in order: others of the name are of connections that it followed
	noted tcp.Time
}

// waitName is its name: addresses and ports, local and remote.
type waitName [12]byte

// nameOf is a connection's.
func nameOf(k tuple) (n waitName) {
	local, remote := k.local.Addr().As4(), k.remote.Addr().As4()
	copy(n[:], local[:])
	copy(n[4:], remote[:])
	n[8], n[9] = byte(k.local.Port()>>8), byte(k.local.Port())
	n[10], n[11] = byte(k.remote.Port()>>8), byte(k.remote.Port())
	return n
}

func (n *waitName) local() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(n[:4])), uint16(n[8])<<8|uint16(n[9]))
}

func (n *waitName) remote() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(n[4:8])), uint16(n[10])<<8|uint16(n[11]))
}

// waitEnd is when it ended, as it was known when it was noted.
type waitEnd struct {
	name waitName
	at   tcp.Time
}

// waitLook is the least time between two looks at who has waited for long enough.
const waitLook = time.Second

// add takes a connection in TIME-WAIT.
func (w *waits) add(k tuple, cfg *tcp.Config, wait tcp.TimeWaitConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for len(w.of) >= w.most {
		w.oldest()
		w.forgotten++
	}
	if w.of == nil {
		w.of = map[waitName]waiting{}
	}
	name := nameOf(k)
	w.push(name, waiting{TimeWaitConn: wait, cfg: cfg})
	if len(w.of) == 1 {
		w.arm(w.s.now())
	}
}

// push keeps one, and notes when it ends.
func (w *waits) push(name waitName, x waiting) {
	if gone := len(w.order) - len(w.of); gone > 1024 && gone > len(w.order)/2 {
		w.order = slices.DeleteFunc(append(w.order[:0], w.order[w.first:]...), func(e waitEnd) bool { return !w.holds(e) })
		w.first = 0
	}
	x.noted = x.ExpiresAt
	w.of[name] = x
	w.order = append(w.order, waitEnd{name, x.ExpiresAt})
}

// holds says whether the end that was noted is still one's.
func (w *waits) holds(e waitEnd) bool {
	x, ok := w.of[e.name]
	return ok && x.noted == e.at
}

// oldest forgets the one that came first.
func (w *waits) oldest() {
	for w.first < len(w.order) {
		e := w.order[w.first]
		w.first++
		if w.holds(e) {
			delete(w.of, e.name)
			return
		}
	}
}

// arm has the timer call when the first ends.
func (w *waits) arm(now tcp.Time) {
	wait := max(w.order[w.first].at.Sub(now), waitLook)
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.expire) // until close
		return
	}
	w.timer.Reset(wait)
}

// expire forgets those that have waited for long enough. A FIN that came again has made some of
// them wait longer.
func (w *waits) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.s.now()
	for w.first < len(w.order) && w.order[w.first].at <= now {
		e := w.order[w.first]
		w.first++
		if !w.holds(e) {
			continue
		}
		if x := w.of[e.name]; x.ExpiresAt > now {
			w.push(e.name, x)
			continue
		}
		delete(w.of, e.name)
	}
	if len(w.of) == 0 {
		w.of, w.order, w.first = nil, nil, 0
		return
	}
	if !w.closed {
		w.arm(now)
	}
}

// close forgets all.
func (w *waits) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.of, w.order, w.first = nil, nil, 0
	if w.timer != nil {
		w.timer.Stop()
	}
}

// arrive takes a segment of no connection. If one of its name is in TIME-WAIT, the segment is for
// that, which may answer; when it is a SYN that opens another, and somebody listens, that may
// follow.
func (w *waits) arrive(k tuple, seg *tcp.Segment, listened bool, now tcp.Time) (taken bool, f follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := nameOf(k)
	x, ok := w.of[name]
	if !ok {
		return false, f
	}
	if listened && seg.Flags&(wire.SYN|wire.ACK|wire.RST) == wire.SYN && x.CanReopen(seg) {
		delete(w.of, name)
		return false, follower{true, x.NextISS()}
	}
	if x.Arrive(x.cfg, now, seg) {
		o := x.Answer(now)
		w.s.sendAlone(k, &o)
	}
	w.of[name] = x
	return true, f
}

// free says whether a connection of a name may be opened from here: there is none in TIME-WAIT, or,
// if it may follow, one that it does no harm to follow. Of a name of the loopback's the other end
// is the stack's too.
func (w *waits) free(k tuple, follow, loopback bool, now tcp.Time) (free bool, f follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if loopback {
		if x, ok := w.of[nameOf(tuple{k.remote, k.local})]; ok && !x.TimestampAdvanced(now) {
			return false, f
		}
	}
	name := nameOf(k)
	x, ok := w.of[name]
	switch {
	case !ok:
		return true, f
	case loopback && !x.TimestampAdvanced(now), !loopback && !(follow && x.CanDial(x.cfg, now)):
		return false, f
	}
	delete(w.of, name)
	return true, follower{true, x.NextISS()}
}

// Waiting is how many connections are in TIME-WAIT, and how many were forgotten before their time
// because there were more than Config.Waiting.
func (s *Stack) Waiting() (now int, forgotten uint64) {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	return len(s.waits.of), s.waits.forgotten
}

// all are those that wait.
func (w *waits) all() (all []ConnInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range w.of {
		all = append(all, ConnInfo{n.local(), n.remote(), tcp.Info{State: tcp.TimeWait}})
	}
	return all
}

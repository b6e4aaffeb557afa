package conn

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"weir/web/internal/client"
)

// The reasons why a connection has no place.
var (
	ErrCrowded = errors.New("server: its client has as many connections open as one may have")
	ErrFull    = errors.New("server: as many connections are open as may be")
)

// freshFor is how long a new connection without a request is not evicted: its request may be on its
// way, or wait for this program to read it.
const freshFor = time.Second

// Places limits the open connections of a server, of all protocols: in total and of each client. A
// new connection evicts the one that has been idle for longest. Any goroutine may call its methods.
type Places struct {
	most, each int // 0: no limit
	exempt     client.TrustedProxies
	clock      *atomic.Int64 // of the watch: nanoseconds

	wanted atomic.Bool // a goroutine waits for room
	// from a connection that ends or becomes idle -> to the waiter; capacity 1, never closed
	room chan struct{}

	mu     sync.Mutex // guards what follows, and fields of places
	number uint64     // of the latest place
	all    group
	// the open connections of a client, without those that are exempt; none is empty
	of map[netip.Prefix]*group
}

// Place is the place of one connection.
type Place struct {
	of      *Places
	network netip.Prefix // of its client; the zero prefix: it is not counted
	number  uint64       // in the order of opening
	index   [2]int       // in the groups, by their kind; guarded by of.mu
	gone    bool         // it was removed from the groups; guarded by of.mu
	close   func()       // ends the connection; set before the place is first idle
	// when it became idle, by the clock; 0: a request is under way, or it was not opened
	since   atomic.Int64
	fresh   atomic.Bool  // it had no request, and was not idle before
	streams atomic.Int64 // requests under way, where there may be several
}

// Places returns the places of the watch's connections: at most most in total, and each of one
// client; 0 is no limit. Connections of loopback, of Unix sockets and of fronts count only in
// total.
func (w *Watch) Places(most, each int, fronts client.TrustedProxies) *Places {
	return &Places{most: most, each: each, exempt: fronts, clock: &w.clock, room: make(chan struct{}, 1), all: group{kind: ofAll}, of: map[netip.Prefix]*group{}}
}

// Take returns a place for a connection from an address. If there is none left, it closes the
// connection that has been idle for longest: of the same client, if that one is at its limit. If
// none is idle, the error is ErrCrowded or ErrFull.
func (p *Places) Take(address string) (*Place, error) {
	network := p.counted(address)
	p.mu.Lock()
	evicted, err := p.makeRoomLocked(network)
	var mine *Place
	if err == nil {
		p.number++
		mine = &Place{of: p, network: network, number: p.number}
		p.addLocked(mine)
	}
	p.mu.Unlock()
	for _, e := range evicted {
		e.close()
	}
	return mine, err
}

// counted returns the prefix by which a client's connections are counted; the zero prefix: they are
// not.
func (p *Places) counted(address string) netip.Prefix {
	a, ok := client.Parse(address)
	if !ok || a.IsLoopback() || p.exempt.Contains(a) {
		return netip.Prefix{}
	}
	return client.Network(address)
}

// makeRoomLocked removes the places that a new connection of a client needs. The caller, which
// holds mu, closes their connections.
func (p *Places) makeRoomLocked(network netip.Prefix) (evicted []*Place, err error) {
	if g := p.of[network]; g != nil && p.each > 0 && len(g.open) >= p.each {
		e := g.longestIdle(p.clock.Load())
		if e == nil {
			return nil, ErrCrowded
		}
		p.removeLocked(e)
		evicted = append(evicted, e)
	}
	if p.most > 0 && len(p.all.open) >= p.most {
		e := p.all.longestIdle(p.clock.Load())
		if e == nil {
			return evicted, ErrFull
		}
		p.removeLocked(e)
		evicted = append(evicted, e)
	}
	return evicted, nil
}

// addLocked adds a place. The caller holds mu.
func (p *Places) addLocked(o *Place) {
	p.all.add(o)
	if !o.network.IsValid() {
		return
	}
	g := p.of[o.network]
	if g == nil {
		g = &group{kind: ofClient}
		p.of[o.network] = g
	}
	g.add(o)
}

// removeLocked removes a place, once. The caller holds mu.
func (p *Places) removeLocked(o *Place) {
	if o.gone {
		return
	}
	o.gone = true
	p.all.remove(o)
	if g := p.of[o.network]; g != nil {
		if g.remove(o); len(g.open) == 0 {
			delete(p.of, o.network)
		}
	}
}

// Open returns the number of open connections.
func (p *Places) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all.open)
}

// Idle returns the number of open connections that are idle.
func (p *Places) Idle() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Load()
	for _, o := range p.all.open {
		if _, idle := o.idleAt(now); idle {
			n++
		}
	}
	return n
}

// Busy reports whether more than half of the places are taken.
func (p *Places) Busy() bool { return p.most > 0 && p.Open() > p.most/2 }

// Wait waits until there may be room, or done is closed. It reports whether done is closed.
func (p *Places) Wait(done <-chan struct{}) (closed bool) {
	fresh := time.NewTimer(freshFor) // the end of this time is not signalled
	defer fresh.Stop()
	select {
	case <-p.room:
		return false
	case <-fresh.C:
		return false
	case <-done:
		return true
	}
}

// Want sets whether a goroutine waits for room. After Want(true) it must call Take once more before
// it waits.
func (p *Places) Want(wanted bool) { p.wanted.Store(wanted) }

// signal wakes the goroutine that waits for room.
func (p *Places) signal() {
	if !p.wanted.Load() {
		return
	}
	select {
	case p.room <- struct{}{}:
	default:
	}
}

// Opened sets how the connection is closed. From then on it is idle, and it may be evicted after
// freshFor.
func (o *Place) Opened(end func()) {
	o.close = end
	o.fresh.Store(true)
	o.since.Store(o.of.clock.Load())
}

// idleAt reports whether the connection is idle at a time of the clock and may be evicted, and
// since when it is idle.
func (o *Place) idleAt(now int64) (since int64, idle bool) {
	since = o.since.Load()
	return since, since != 0 && (!o.fresh.Load() || now-since >= int64(freshFor))
}

// Idle is called when no request is under way on the connection.
func (o *Place) Idle() {
	if o.fresh.Load() {
		o.fresh.Store(false)
	}
	o.since.Store(o.of.clock.Load())
	o.of.signal()
}

// Asked is called when a request begins.
func (o *Place) Asked() { o.since.Store(0) }

// Begin is called before a request on a connection that may have several at once, End after it.
func (o *Place) Begin() {
	o.streams.Add(1)
	o.Asked()
}

// End is called after a request for which Begin was called.
func (o *Place) End() {
	if o.streams.Add(-1) > 0 {
		return
	}
	o.Idle()
	if o.streams.Load() > 0 { // another has begun meanwhile
		o.Asked()
	}
}

// Leave is called when the connection has ended. It may be called several times.
func (o *Place) Leave() {
	o.of.mu.Lock()
	o.of.removeLocked(o)
	o.of.mu.Unlock()
	o.of.signal()
}

type placed struct{}

// WithPlace returns a context for the requests of a connection that may have several at once.
// PlaceOf finds the place in it.
func WithPlace(ctx context.Context, o *Place) context.Context {
	return context.WithValue(ctx, placed{}, o)
}

// PlaceOf returns the place of such a request's connection; nil: it has none.
func PlaceOf(ctx context.Context) *Place {
	o, _ := ctx.Value(placed{}).(*Place)
	return o
}

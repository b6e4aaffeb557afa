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

// Why a connection has no place.
var (
	ErrCrowded = errors.New("server: its client has as many connections open as one may have")
	ErrFull    = errors.New("server: as many connections are open as may be")
)

// freshFor is how long a new connection that has asked nothing yet does not give way: its request
// may be on its way, or wait for this program to read it.
const freshFor = time.Second

// Places are those of the connections that a server has open, of whatever protocol: at most Most in
// all, and Each of one client. A connection on which nothing is asked gives way to a new one, the
// longest idle first. Methods may be called from any goroutine.
type Places struct {
	most, each int // 0: no limit
	exempt     client.TrustedProxies
	clock      *atomic.Int64 // of the watch: nanoseconds

	wanted atomic.Bool // somebody waits for room
	// from a connection that ends or becomes idle -> to who waits; capacity 1, never closed
	room chan struct{}

	mu     sync.Mutex // guards what follows, and what is said so of places
	number uint64     // of the place that was given last
	all    group
	// the open connections of a client, without those that are exempt; none is empty
	of map[netip.Prefix]*group
}

// Place is one connection's.
type Place struct {
	of      *Places
	network netip.Prefix // of its client; the zero prefix: it is not counted
	number  uint64       // in the order of opening
	index   [2]int       // in the groups, by their kind; guarded by of.mu
	gone    bool         // from the groups; guarded by of.mu
	close   func()       // ends the connection; set before the place is first idle
	// when it became idle, by the clock; 0: something is asked on it, or it was not told
	since   atomic.Int64
	fresh   atomic.Bool  // nothing was asked or waited for yet
	streams atomic.Int64 // requests under way, where there may be several
}

// Places has the watch's connections count: at most most in all and each of one client, 0 being no
// limit. Those of loopback, of Unix sockets and of fronts count in all only.
func (w *Watch) Places(most, each int, fronts client.TrustedProxies) *Places {
	return &Places{most: most, each: each, exempt: fronts, clock: &w.clock, room: make(chan struct{}, 1), all: group{kind: ofAll}, of: map[netip.Prefix]*group{}}
}

// Take gives a connection from an address a place. When there is none it ends the longest idle
// connection: of the same client, if that has as many as it may. If none is idle, the error is
// ErrCrowded or ErrFull.
func (p *Places) Take(address string) (*Place, error) {
	network := p.counted(address)
	p.mu.Lock()
	evicted, err := p.makeRoom(network)
	var mine *Place
	if err == nil {
		p.number++
		mine = &Place{of: p, network: network, number: p.number}
		p.add(mine)
	}
	p.mu.Unlock()
	for _, e := range evicted {
		e.close()
	}
	return mine, err
}

// counted is what a client's connections are counted by; the zero prefix: they are not.
func (p *Places) counted(address string) netip.Prefix {
	a, ok := client.Parse(address)
	if !ok || a.IsLoopback() || p.exempt.Contains(a) {
		return netip.Prefix{}
	}
	return client.Network(address)
}

// makeRoom takes out what a new connection of a client takes the place of; the caller ends those.
// The caller holds mu.
func (p *Places) makeRoom(network netip.Prefix) (evicted []*Place, err error) {
	if g := p.of[network]; g != nil && p.each > 0 && len(g.open) >= p.each {
		e := g.longestIdle(p.clock.Load())
		if e == nil {
			return nil, ErrCrowded
		}
		p.remove(e)
		evicted = append(evicted, e)
	}
	if p.most > 0 && len(p.all.open) >= p.most {
		e := p.all.longestIdle(p.clock.Load())
		if e == nil {
			return evicted, ErrFull
		}
		p.remove(e)
		evicted = append(evicted, e)
	}
	return evicted, nil
}

// add puts a place in. The caller holds mu.
func (p *Places) add(o *Place) {
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

// remove takes a place out, if it is in. The caller holds mu.
func (p *Places) remove(o *Place) {
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

// Open is how many connections are open.
func (p *Places) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all.open)
}

// Idle is how many of these are idle.
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

// Wait returns when there may be room, or done is closed, which it reports.
func (p *Places) Wait(done <-chan struct{}) (closed bool) {
	fresh := time.NewTimer(freshFor) // nobody tells of a connection that is no longer new
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

// Want says whether somebody is about to wait for room, and then Take is to be tried once more
// before.
func (p *Places) Want(wanted bool) { p.wanted.Store(wanted) }

// tell wakes who waits for room.
func (p *Places) tell() {
	if !p.wanted.Load() {
		return
	}
	select {
	case p.room <- struct{}{}:
	default:
	}
}

// Opened says how the connection is ended. It is idle from then on, and gives way after freshFor.
func (o *Place) Opened(end func()) {
	o.close = end
	o.fresh.Store(true)
	o.since.Store(o.of.clock.Load())
}

// idleAt reports whether the connection is idle at a time of the clock and may give way, and since
// when.
func (o *Place) idleAt(now int64) (since int64, idle bool) {
	since = o.since.Load()
	return since, since != 0 && (!o.fresh.Load() || now-since >= int64(freshFor))
}

// Idle says that nothing is asked on the connection.
func (o *Place) Idle() {
	if o.fresh.Load() {
		o.fresh.Store(false)
	}
	o.since.Store(o.of.clock.Load())
	o.of.tell()
}

// Asked says that something is.
func (o *Place) Asked() { o.since.Store(0) }

// Begin and End enclose a request, where several may be under way on a connection.
func (o *Place) Begin() {
	o.streams.Add(1)
	o.Asked()
}

// End ends what Begin began.
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
	o.of.remove(o)
	o.of.mu.Unlock()
	o.of.tell()
}

type placed struct{}

// WithPlace gives the requests of a connection on which several may be under way a context in which
// PlaceOf finds its place.
func WithPlace(ctx context.Context, o *Place) context.Context {
	return context.WithValue(ctx, placed{}, o)
}

// PlaceOf is the place of such a request's connection; nil: it has none.
func PlaceOf(ctx context.Context) *Place {
	o, _ := ctx.Value(placed{}).(*Place)
	return o
}

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/flow"
)

// Options say how a composition runs. The zero Options are good ones.
type Options struct {
	Way   flow.Way      // empty: by Chain
	Queue int           // exchanges that may wait between stages that do not block; 0: 256
	Drain time.Duration // how long Close waits for the set-up of responses; 0: 5 s

	// Panicked is told of a panic, by the goroutine that panicked: of a stage, and the exchange is
	// answered with 500; or, under the name [Response], of a stream or a filter while the body was
	// sent, and the connection is cut. Nil: nobody is told of stages, and net/http's log of the
	// rest.
	Panicked func(stage string, value any, stack []byte)

	// Failed gets each exchange that was answered by 500 and more for a known reason, or whose body
	// the server broke off. The goroutine of the request calls it. Nil: they are dropped.
	Failed func(Failure)
}

// Failure is an exchange that could not be answered as it should.
type Failure struct {
	Method, Host, Target string // as they came
	Status               int
	Err                  error
}

// Handler is a composition that runs, as a handler of package net/http. Its methods may be called
// from any goroutine.
//
// The response is set up in the net. The rest, which waits for the client, is done by the goroutine
// of the request: so a slow client holds up no stage.
type Handler struct {
	net      *flow.Net[*Conn] // nil: the exchanges go into the user's own network
	in       chan<- *Conn     // from requests -> to that network, never closed by us
	inside   atomic.Int64     // exchanges in it
	closing  <-chan struct{}  // of that network: closed by Close
	way      flow.Way
	leaves   []string // stages behind which a response is sent
	lines    map[string]*line
	filtered bool // there is a filter: sources are not asked for ranges
	slashes  bool // an encoded slash counts as one: a component has the trait RawPath
	stop     context.CancelFunc
	ended    chan struct{} // closed by the owner of the net's Run when that has returned
	err      error         // what it returned
	conns    sync.Pool     // of *Conn
	active   atomic.Int64
	panicked func(string, any, []byte)
	failed   func(Failure)
}

// New runs a composition. What can't work is refused with a [CompositionError]. Who calls New calls
// Close.
func New(c Component, o Options) (*Handler, error) {
	h := &Handler{way: cmp.Or(o.Way, flow.Chain), ended: make(chan struct{}), panicked: o.Panicked, failed: o.Failed}
	h.conns.New = func() any { return newConn() }
	b, err := compile(c, h.way, queue(o), h.exit())
	if err != nil {
		return nil, err
	}
	h.filtered, h.slashes, h.leaves, h.lines = b.filter, b.rawPath, b.leaves(), b.lines()
	if h.net, err = b.net(h.lose, o.Drain); err != nil {
		return nil, err
	}
	if err := h.run(); err != nil {
		return nil, err
	}
	return h, nil
}

func queue(o Options) int { return cmp.Or(o.Queue, 256) }

// net makes the net.
func (b *builder) net(lost func(*Conn, error), drain time.Duration) (*flow.Net[*Conn], error) {
	stages := make([]flow.Stage[*Conn], len(b.stages))
	for i, s := range b.stages {
		stages[i] = s.Stage
	}
	return flow.New(stages, b.edges, lost, drain)
}

// run starts the net. Its goroutine ends when the context is done, which is Close's to say.
func (h *Handler) run() error {
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() {
		defer close(h.ended)
		h.err = h.net.Run(ctx, h.way)
	}()
	for h.net.Snapshot().Way == "" { // before that, Put takes nothing
		select {
		case <-h.ended:
			return h.err
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// exit is what is done with an exchange whose response is set up.
func (h *Handler) exit() func(*Conn) {
	if h.way == flow.Chain {
		return func(*Conn) {} // it comes home by returning
	}
	return func(c *Conn) { c.home.done <- struct{}{} }
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.active.Add(1)
	c := h.conns.Get().(*Conn)
	c.begin(w, r)
	if !isCanonical(r) {
		c.canonicalize(h.slashes)
	}
	if h.filtered && r.Header["Range"] != nil {
		c.DelRequestHeader("Range")
	}
	home := c.home
	if !h.setUp(c) {
		h.active.Add(-1)
		panic(http.ErrAbortHandler) // the network has lost it, and may still have it
	}
	defer h.end(home)
	home.conn.commit()
}

// setUp takes an exchange through the net. It reports false when it did not come back.
func (h *Handler) setUp(c *Conn) bool {
	if h.in != nil {
		return h.setUpOutside(c)
	}
	home := c.home
	if h.net.Put(home.batch[:]) == 0 {
		c.lost(http.StatusServiceUnavailable, errNoRoom)
		return true
	}
	if h.way == flow.Network {
		<-home.done
	}
	home.batch[0] = nil
	return true
}

// errNoRoom is why an exchange did not get into the net.
var errNoRoom = errors.New("web: no room for the exchange, or the composition was closed")

// lose is given the exchanges that the net lost.
func (h *Handler) lose(c *Conn, why error) {
	c = c.home.conn
	status := http.StatusServiceUnavailable
	if p, ok := errors.AsType[*flow.PanicError](why); ok {
		status = http.StatusInternalServerError
		c.abort = p.Value == http.ErrAbortHandler
		if h.panicked != nil && !c.abort {
			h.panicked(p.Stage, p.Value, p.Stack)
		}
	}
	c.lost(status, why)
	if h.way == flow.Network {
		c.home.done <- struct{}{}
	}
}

// end is the last of an exchange: also after a panic of its stream, or of a filter of its body.
func (h *Handler) end(home *home) {
	c := home.conn
	cut := h.blame(c, recover())
	if late := h.finish(c); cut == nil {
		cut = late
	}
	if c.err != nil && h.failed != nil {
		h.tell(c, cut != nil)
	}
	c.reset()
	h.conns.Put(c)
	h.active.Add(-1)
	if cut != nil {
		panic(cut)
	}
}

// tell reports an exchange that failed because of the server; broken says that its body was broken
// off.
func (h *Handler) tell(c *Conn, broken bool) {
	if c.status < 500 && (!broken || c.orig.Context().Err() != nil || clientLeft(c.err)) {
		return
	}
	h.failed(Failure{c.orig.Method, c.orig.Host, c.orig.RequestURI, c.status, c.err})
}

// clientLeft reports whether writing to the client has failed: it has gone, or was too slow.
func clientLeft(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op != "read" && op.Op != "dial"
	}
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, os.ErrDeadlineExceeded)
}

// finish calls what was registered by After and lets go of the body, all of it even if some panics.
// It returns what the connection is to be cut with.
func (h *Handler) finish(c *Conn) (cut any) {
	defer func() {
		if p := recover(); p != nil {
			h.finish(c)
			cut = h.blame(c, p)
		}
	}()
	for len(c.after) > 0 {
		f := c.after[len(c.after)-1]
		c.after = c.after[:len(c.after)-1]
		f(c)
	}
	c.body.close()
	return nil
}

// blame tells of a panic outside of the net, and returns what the connection is to be cut with.
func (h *Handler) blame(c *Conn, p any) any {
	if p == nil || p == http.ErrAbortHandler {
		return p
	}
	c.err = fmt.Errorf("web: a panic while the body was sent: %v", p)
	if h.panicked == nil {
		return p
	}
	h.panicked(Response, p, debug.Stack())
	return http.ErrAbortHandler // or net/http would say it again
}

// Response is the name, in a Topology, of where responses are sent: no stage, but where all paths
// end.
const Response = "response"

// Topology is the net with what has passed through it, and its end. Of a handler made by [Ends], it
// is empty.
func (h *Handler) Topology() flow.Topology {
	if h.net == nil {
		return flow.Topology{Way: h.way}
	}
	t := h.net.Snapshot()
	end := flow.StageStats{Name: Response}
	for _, name := range h.leaves {
		i := slices.IndexFunc(t.Stages, func(s flow.StageStats) bool { return s.Name == name })
		items := t.Stages[i].Left
		t.Edges = append(t.Edges, flow.EdgeStats{Edge: flow.Edge{From: name, Port: -1, To: Response}, Items: items})
		end.Items += items
	}
	t.Stages = append(t.Stages, end)
	t.Edges = merged(t.Edges)
	for name, l := range h.lines {
		l.show(&t, name)
	}
	return t
}

// merged makes one of edges that lead from one stage to another by several ports.
func merged(edges []flow.EdgeStats) (all []flow.EdgeStats) {
	for _, e := range edges {
		i := slices.IndexFunc(all, func(o flow.EdgeStats) bool { return o.From == e.From && o.To == e.To })
		if i < 0 {
			all = append(all, e)
			continue
		}
		all[i].Cap += e.Cap
		all[i].Items += e.Items
		all[i].Depth += e.Depth
		all[i].Dropped += e.Dropped
		all[i].Refused += e.Refused
	}
	return all
}

// Active is how many exchanges are under way, set up or not.
func (h *Handler) Active() int { return int(h.active.Load()) }

// Close ends the net: exchanges whose responses are being set up come through, later ones are
// answered by 503. It does not wait for responses that are being sent. It may be called several
// times.
func (h *Handler) Close() error {
	h.stop()
	<-h.ended
	return h.err
}

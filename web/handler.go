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

// Options configure how a composition runs. The zero value is a good default.
type Options struct {
	Way          flow.Way      // the concurrency model; empty: flow.Chain
	Queue        int           // exchanges that may wait between stages that do not block; 0: 256
	DrainTimeout time.Duration // how long Close waits for responses being set up; 0: 5 s

	// OnPanic is called for each panic by the goroutine that panicked. For a stage, the exchange is
	// answered by 500. The stage [ResponseStage] stands for streams and filters that panic while
	// the body is sent; the connection is closed then. Nil: panics of stages are not reported, and
	// net/http logs the others.
	OnPanic func(stage string, value any, stack []byte)

	// OnFailure is called by the request's goroutine for each exchange that failed with a known
	// reason: it was answered by 500 or more, or the server truncated its body. Nil: failures are
	// not reported.
	OnFailure func(Failure)
}

// Failure describes an exchange that the server could not answer as intended.
type Failure struct {
	Method, Host, Target string // as received
	Status               int
	Err                  error
}

// Handler is an [http.Handler] that runs a composition. Its methods are safe for concurrent use.
//
// The net sets up the response. The request's goroutine does the rest, which may wait for the
// client, so a slow client blocks no stage.
type Handler struct {
	net            *flow.Net[*Conn] // nil: the exchanges go into the user's own network
	userIn         chan<- *Conn     // of the user's network; the Handler never closes it
	userExchanges  atomic.Int64     // exchanges in the user's network
	closing        <-chan struct{}  // with a user's network: closed by Close
	way            flow.Way
	lastStages     []string // the stages behind which a response is sent
	admission      map[string]*admissionQueue
	hidesRanges    bool     // the composition has a filter: sources do not see the Range field
	inProcess      []string // see InProcess
	decodesSlashes bool     // a component has the trait RawPath: %2F counts as a slash
	cancelRun      context.CancelFunc
	runEnded       chan struct{} // closed after Run of the net has returned
	runErr         error         // the error of Run; read it after runEnded is closed
	connPool       sync.Pool     // of *Conn
	// active counts exchanges in progress.
	active    atomic.Int64
	onPanic   func(string, any, []byte)
	onFailure func(Failure)
}

// New starts a composition. It rejects one that cannot work with a [CompositionError]. The caller
// must call Close.
func New(c Component, o Options) (*Handler, error) {
	h := &Handler{way: cmp.Or(o.Way, flow.Chain), runEnded: make(chan struct{}), onPanic: o.OnPanic, onFailure: o.OnFailure}
	h.connPool.New = func() any { return newConn() }
	b, err := compile(c, h.way, queueSize(o), h.exitFunc())
	if err != nil {
		return nil, err
	}
	h.inProcess, h.hidesRanges, h.decodesSlashes, h.lastStages, h.admission = b.inProcess, b.hasFilter, b.rawPath, b.lastStages(), b.admissionQueues()
	if h.net, err = b.net(h.onLost, o.DrainTimeout); err != nil {
		return nil, err
	}
	if err := h.run(); err != nil {
		return nil, err
	}
	return h, nil
}

func queueSize(o Options) int { return cmp.Or(o.Queue, 256) }

// net creates the flow.Net of the stages.
func (b *builder) net(lost func(*Conn, error), drain time.Duration) (*flow.Net[*Conn], error) {
	stages := make([]flow.Stage[*Conn], len(b.stages))
	for i, s := range b.stages {
		stages[i] = s.Stage
	}
	return flow.New(stages, b.edges, lost, drain)
}

// run starts the net in a goroutine, which ends when Close cancels its context.
func (h *Handler) run() error {
	ctx, stop := context.WithCancel(context.Background())
	h.cancelRun = stop
	go func() {
		defer close(h.runEnded)
		h.runErr = h.net.Run(ctx, h.way)
	}()
	for h.net.Snapshot().Way == "" { // Put accepts nothing before the net runs
		select {
		case <-h.runEnded:
			return h.runErr
		default:
			runtime.Gosched()
		}
	}
	return nil
}

// exitFunc returns what the last stage of a path calls with an exchange whose response is set up.
func (h *Handler) exitFunc() func(*Conn) {
	if h.way == flow.Chain {
		return func(*Conn) {} // the exchange is back when Put returns
	}
	return func(c *Conn) { c.requestSide.setUpDone <- struct{}{} }
}

// ReusesExchanges reports whether the engine may use requests again: the handler keeps neither a
// request nor a header of a response, unless it calls Detach of the response's writer.
func (h *Handler) ReusesExchanges() bool { return true }

// InProcess names the components that keep something for all connections in the memory of this
// process, and what: see [Traits]. Several processes cannot share them.
func (h *Handler) InProcess() []string { return h.inProcess }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.active.Add(1)
	c := h.connPool.Get().(*Conn)
	c.start(w, r)
	if !isCanonical(r) {
		c.canonicalize(h.decodesSlashes)
	}
	if h.hidesRanges && r.Header["Range"] != nil {
		c.DelRequestHeader("Range")
	}
	side := c.requestSide
	if h.way == flow.Network {
		c.leaveLoop()
	}
	if !h.setUp(c) {
		h.active.Add(-1)
		// the user's network has not returned the exchange and may still use it
		panic(http.ErrAbortHandler)
	}
	defer h.finishExchange(side)
	side.conn.commit()
}

// setUp takes an exchange through the net. It reports whether the exchange came back.
func (h *Handler) setUp(c *Conn) bool {
	if h.userIn != nil {
		return h.setUpByUserNetwork(c)
	}
	side := c.requestSide
	if h.net.Put(side.putBatch[:]) == 0 {
		c.failWith(http.StatusServiceUnavailable, errNotAdmitted)
		return true
	}
	if h.way == flow.Network {
		<-side.setUpDone
	}
	side.putBatch[0] = nil
	return true
}

// errNotAdmitted is the reason of an exchange that the net did not accept.
var errNotAdmitted = errors.New("web: no room for the exchange, or the composition was closed")

// onLost is the net's error function: it answers exchanges that the net dropped.
func (h *Handler) onLost(c *Conn, why error) {
	c = c.requestSide.conn
	status := http.StatusServiceUnavailable
	if p, ok := errors.AsType[*flow.PanicError](why); ok {
		status = http.StatusInternalServerError
		c.abortConn = p.Value == http.ErrAbortHandler
		if h.onPanic != nil && !c.abortConn {
			h.onPanic(p.Stage, p.Value, p.Stack)
		}
	}
	c.failWith(status, why)
	if h.way == flow.Network {
		c.requestSide.setUpDone <- struct{}{}
	}
}

// finishExchange ends an exchange, also after a panic of its stream or of a filter of its body.
func (h *Handler) finishExchange(side *requestSide) {
	c := side.conn
	cut := h.reportPanic(c, recover())
	if late := h.runAfterFuncs(c); cut == nil {
		cut = late
	}
	if c.err != nil && h.onFailure != nil {
		h.reportFailure(c, cut != nil)
	}
	c.reset()
	h.connPool.Put(c)
	h.active.Add(-1)
	if cut != nil {
		panic(cut)
	}
}

// reportFailure calls OnFailure for an exchange that failed because of the server. truncated says
// that its body was cut off.
func (h *Handler) reportFailure(c *Conn, broken bool) {
	if c.status < 500 && (!broken || c.orig.Context().Err() != nil || clientLeft(c.err)) {
		return
	}
	h.onFailure(Failure{c.orig.Method, c.orig.Host, c.orig.RequestURI, c.status, c.err})
}

// clientLeft reports whether an error means that writing to the client failed: the client has
// disconnected or was too slow.
func clientLeft(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op != "read" && op.Op != "dial"
	}
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, os.ErrDeadlineExceeded)
}

// runAfterFuncs calls the functions that After registered and closes the body, all of them even if
// some panic. It returns the value to panic with in order to close the connection, nil to keep it.
func (h *Handler) runAfterFuncs(c *Conn) (cut any) {
	defer func() {
		if p := recover(); p != nil {
			h.runAfterFuncs(c)
			cut = h.reportPanic(c, p)
		}
	}()
	for len(c.afterExchange) > 0 {
		f := c.afterExchange[len(c.afterExchange)-1]
		c.afterExchange = c.afterExchange[:len(c.afterExchange)-1]
		f(c)
	}
	c.body.close()
	return nil
}

// reportPanic reports a panic outside of the net. It returns the value to panic with in order to
// close the connection, nil to keep it.
func (h *Handler) reportPanic(c *Conn, p any) any {
	if p == nil || p == http.ErrAbortHandler {
		return p
	}
	c.err = fmt.Errorf("web: a panic while the body was sent: %v", p)
	if h.onPanic == nil {
		return p
	}
	h.onPanic(ResponseStage, p, debug.Stack())
	return http.ErrAbortHandler // net/http does not log this one again
}

// ResponseStage is the name in a Topology of the point where responses are sent. It is not a stage
// of the net, but all paths end there.
const ResponseStage = "response"

// Topology returns the net with its counts, ending in [ResponseStage]. It is empty for a handler
// made by [NewChannelHandler].
func (h *Handler) Topology() flow.Topology {
	if h.net == nil {
		return flow.Topology{Way: h.way}
	}
	t := h.net.Snapshot()
	end := flow.StageStats{Name: ResponseStage}
	for _, name := range h.lastStages {
		i := slices.IndexFunc(t.Stages, func(s flow.StageStats) bool { return s.Name == name })
		items := t.Stages[i].Left
		t.Edges = append(t.Edges, flow.EdgeStats{Edge: flow.Edge{From: name, Port: -1, To: ResponseStage}, Items: items})
		end.Items += items
	}
	t.Stages = append(t.Stages, end)
	t.Edges = mergeParallelEdges(t.Edges)
	for name, l := range h.admission {
		l.annotate(&t, name)
	}
	return t
}

// mergeParallelEdges merges edges between the same two stages into one.
func mergeParallelEdges(edges []flow.EdgeStats) (all []flow.EdgeStats) {
	for _, e := range edges {
		i := slices.IndexFunc(all, func(o flow.EdgeStats) bool { return o.From == e.From && o.To == e.To })
		if i < 0 {
			all = append(all, e)
			continue
		}
		all[i].Label = joinEdgeLabels(all[i].Label, e.Label)
		all[i].Cap += e.Cap
		all[i].Items += e.Items
		all[i].Depth += e.Depth
		all[i].Dropped += e.Dropped
		all[i].Refused += e.Refused
	}
	return all
}

// joinEdgeLabels returns the label of two edges that are merged.
func joinEdgeLabels(a, b string) string {
	if a == "" && b == "" {
		return ""
	}
	return cmp.Or(a, "others") + ", " + cmp.Or(b, "others")
}

// Active returns the number of exchanges in progress, set up or not.
func (h *Handler) Active() int { return int(h.active.Load()) }

// Close stops the net. Exchanges whose responses are being set up complete; later ones are answered
// by 503. Close does not wait for responses that are being sent. It may be called several times.
func (h *Handler) Close() error {
	h.cancelRun()
	<-h.runEnded
	return h.runErr
}

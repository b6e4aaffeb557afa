package flow

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/flow/internal/ring"
)

// MaxBatch is the most items that one call of a stage receives.
const MaxBatch = 64

// Entry is the From of the edge through which the items of Put enter.
const Entry = ""

// Errors of a Net.
var (
	// ErrFull is the error of an item that a full edge refused.
	ErrFull = errors.New("flow: queue full")
	// ErrStopped is the error of an item that was still queued at the deadline of a stop.
	ErrStopped = errors.New("flow: stopped")
	// ErrGoexit is the Value of a PanicError for a stage's call of runtime.Goexit.
	ErrGoexit = errors.New("flow: the stage called runtime.Goexit")
	// ErrDeadline is the error of Run when a stop took longer than New's drain time.
	ErrDeadline = errors.New("flow: stopped at the deadline, before everything had passed through")
)

// PanicError is the error of an item whose stage panicked.
type PanicError struct {
	Stage string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("flow: stage %s panicked: %v", e.Stage, e.Value)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Stage is a step of the work. Do receives 1 to MaxBatch items and sends on by out the items that
// continue. Several goroutines call it at once unless Width limits them.
type Stage[T any] struct {
	Name string // unique, not empty
	// Width is the most concurrent calls of Do, at most 65,536. 0 means no limit by Chain and 1 by
	// Network.
	Width int
	Do    func(in []T, out *Out[T])
}

// Policy is what happens to a batch that meets a full edge.
type Policy int

// The policies.
const (
	Wait Policy = iota // the sender waits (backpressure)
	Drop               // the batch is dropped and counted
	// The items go to the error function with ErrFull; at the Entry, Put returns without them.
	Refuse
)

func (p Policy) String() string { return [...]string{"wait", "drop", "refuse"}[p] }

// MarshalText writes the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Edge leads from a port of one stage to another stage. A port has at most one edge; an item sent
// to a port without one leaves the net.
type Edge struct {
	From     string `json:"from"` // a stage, or Entry: exactly one edge begins there
	Port     int    `json:"port"` // of From, 0 to 63
	To       string `json:"to"`
	Cap      int    `json:"cap"`  // batches that may wait, 1 to 65,536; 0 means 16
	WhenFull Policy `json:"full"` // what happens to a batch beyond Cap
	// Label says which items take the edge, for drawings. It may be empty.
	Label string `json:"label,omitempty"`
}

// Way is the concurrency model of a net.
type Way string

// The concurrency models.
const (
	Chain   Way = "chain"   // run to completion: nested calls
	Network Way = "network" // a pipeline: goroutines joined by queues
)

// Net is a network of stages. Its methods may be called from any goroutine.
type Net[T any] struct {
	nodes     []*node[T] // immutable, as are edges, onLost and drainTime; the first is the entry
	edges     []*edge[T]
	onLost    func(T, error)
	drainTime time.Duration
	batchPool sync.Pool     // of empty *queuedBatch
	deadlinec chan struct{} // closed by the stop at its deadline: no goroutine may wait any longer
	stoppedc  chan struct{} // closed when the stop is done

	mu         sync.Mutex  // guards the fields below
	way        Way         // empty before Run
	stopErr    error       // result of the stop; set before stoppedc is closed
	accepting  bool        // Put takes items
	workers    int         // goroutines of stages
	owners     []*owner[T] // of workers, and of callers of Put
	idleOwners []*owner[T] // those that are idle
}

// node is a stage, or the entry, with its edges.
type node[T any] struct {
	Stage[T]
	row       int        // of its counters
	ports     []*edge[T] // by port; nil: no edge
	queueSize int        // capacity of all edges that lead here, in batches
	senders   int        // goroutines that may send to them at once
	queue     *ring.Queue[queuedBatch[T]]
}

// edge is an Edge with the stage that it leads to.
type edge[T any] struct {
	Edge
	row int // of its counters
	to  *node[T]
	// Room for Cap waiting batches: from the sender -> to the worker that receives; never closed.
	// nil: the queue's room limits it.
	slots chan struct{}
}

// New builds a net and rejects, with its place, what cannot work. The goroutine that loses an item
// to a panic, a refusal or a deadline calls failed with it. failed must not block or panic, and
// several goroutines may call it at once; nil ignores lost items. drain is how long a stop may
// take; 0 means 5 s.
func New[T any](stages []Stage[T], edges []Edge, failed func(item T, why error), drain time.Duration) (*Net[T], error) {
	n := &Net[T]{onLost: failed, drainTime: cmp.Or(drain, 5*time.Second), deadlinec: make(chan struct{}), stoppedc: make(chan struct{})}
	n.batchPool.New = func() any { return &queuedBatch[T]{items: make([]T, 0, MaxBatch)} }
	n.nodes = []*node[T]{{Stage: Stage[T]{Width: 1 << 16}}} // as many as there are callers of Put
	byName := map[string]*node[T]{Entry: n.nodes[0]}
	for _, s := range stages {
		if err := checkStage(s, byName); err != nil {
			return nil, err
		}
		byName[s.Name] = &node[T]{Stage: s, row: len(n.nodes)}
		n.nodes = append(n.nodes, byName[s.Name])
	}
	for _, e := range edges {
		if err := checkEdge(e, byName); err != nil {
			return nil, err
		}
		n.join(e, byName[e.From], byName[e.To])
	}
	return n, n.check()
}

func (n *Net[T]) join(e Edge, from, to *node[T]) {
	e.Cap = cmp.Or(e.Cap, 16)
	for len(from.ports) <= e.Port {
		from.ports = append(from.ports, nil)
	}
	from.ports[e.Port] = &edge[T]{Edge: e, row: len(n.nodes) + len(n.edges), to: to}
	n.edges = append(n.edges, from.ports[e.Port])
	to.queueSize += e.Cap
	to.senders += max(1, from.Width)
}

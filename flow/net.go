package flow

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/flow/internal/ring"
)

// MaxBatch is the most items that a stage is given at once.
const MaxBatch = 64

// Entry is the From of the edge by which Put's items come in.
const Entry = ""

// Errors that a Net gives.
var (
	// ErrFull is the error of an item that a full edge refused.
	ErrFull = errors.New("flow: queue full")
	// ErrStopped is the error of an item that was still queued when a stop passed its deadline.
	ErrStopped = errors.New("flow: stopped")
	// ErrGoexit is the Value of a PanicError that stands for a stage's call of runtime.Goexit.
	ErrGoexit = errors.New("flow: the stage called runtime.Goexit")
	// ErrDeadline is what Run returns when a stop took longer than New's drain.
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

// Unwrap is the panic's value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Stage is a step of the work. Do takes 1 to MaxBatch items and hands on what should go on by out;
// it is called by several goroutines at once unless Width says otherwise.
type Stage[T any] struct {
	Name string // unique, not empty
	// calls of Do at once: 0 means any number by Chain and 1 by Network; at most 65,536
	Width int
	Do    func(in []T, out *Out[T])
}

// Policy is what happens to a batch that meets a full edge.
type Policy int

// The policies.
const (
	Wait Policy = iota // the sender waits
	Drop               // the batch is dropped, and counted
	// its items go to the error function with ErrFull; at the Entry, Put returns
	Refuse
)

func (p Policy) String() string { return [...]string{"wait", "drop", "refuse"}[p] }

// MarshalText writes the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Edge leads from a port of one stage to another. A port has one edge at most; what is sent to a
// port without one leaves the net.
type Edge struct {
	From string `json:"from"` // a stage, or Entry: exactly one edge begins there
	Port int    `json:"port"` // of From, 0 to 63
	To   string `json:"to"`
	Cap  int    `json:"cap"`  // batches that may wait, 1 to 65,536; 0 means 16
	Full Policy `json:"full"` // what happens to more
}

// Way is how a net runs.
type Way string

// The ways.
const (
	Chain   Way = "chain"   // nested calls
	Network Way = "network" // goroutines joined by queues
)

// Net is a network of stages. Its methods may be called from any goroutine.
type Net[T any] struct {
	nodes   []*node[T] // immutable, as are edges, failed and drain; the first is the entry
	edges   []*edge[T]
	failed  func(T, error)
	drain   time.Duration
	parcels sync.Pool     // of empty *parcel[T]: from whoever emptied one -> to whoever fills one
	done    chan struct{} // closed by Run, when nobody may wait any longer
	stopped chan struct{} // closed when the stop is done

	mu      sync.Mutex  // guards what follows
	way     Way         // empty before Run
	err     error       // of the stop; after stopped
	open    bool        // Put takes items
	workers int         // goroutines of stages, from Run to its end
	owners  []*owner[T] // all: of workers, and of callers of Put
	rest    []*owner[T] // of those, who are not at work
}

// node is a stage, or the entry, with what joins it to the others.
type node[T any] struct {
	Stage[T]
	row     int        // of its counts
	ports   []*edge[T] // by port; nil: nobody listens
	room    int        // of all edges that lead here, in batches
	senders int        // at work on them at once
	queue   *ring.Queue[parcel[T]]
}

// edge is an Edge that is joined to where it leads.
type edge[T any] struct {
	Edge
	row int // of its counts
	to  *node[T]
	// with room for Cap, of parcels that wait: from who sends -> to the worker who takes; never
	// closed. nil: the queue's room will do
	places chan struct{}
}

// New builds a net and refuses, with the place named, what could not work. Failed is given each
// item that is lost to a panic, a refusal or a deadline, by the goroutine that lost it: it must not
// block or panic, and may be called by several at once. Nil means that nobody asks. Drain is how
// long a stop may take, 0 meaning 5 s.
func New[T any](stages []Stage[T], edges []Edge, failed func(item T, why error), drain time.Duration) (*Net[T], error) {
	n := &Net[T]{failed: failed, drain: cmp.Or(drain, 5*time.Second), done: make(chan struct{}), stopped: make(chan struct{})}
	n.parcels.New = func() any { return &parcel[T]{items: make([]T, 0, MaxBatch)} }
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
	to.room += e.Cap
	to.senders += max(1, from.Width)
}

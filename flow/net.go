package flow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
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
	// ErrDeadline is what Run returns when a stop took longer than Options.Drain.
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

// Stage is a step of the work. Do takes 1 to MaxBatch items and hands on what should go on by out; it is
// called by several goroutines at once unless Width says otherwise.
type Stage[T any] struct {
	Name  string // unique, not empty
	Width int    // calls of Do at once: 0 means any number by Chain and 1 by Network; at most 65,536
	Do    func(in []T, out *Out[T])
}

// Policy is what happens to a batch that meets a full edge.
type Policy int

// The policies.
const (
	Wait   Policy = iota // the sender waits
	Drop                 // the batch is dropped, and counted
	Refuse               // its items go to the error function with ErrFull; at the Entry, Put returns
)

func (p Policy) String() string { return [...]string{"wait", "drop", "refuse"}[p] }

// MarshalText writes the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Edge leads from a port of one stage to another. A port has one edge at most; what is sent to a port
// without one leaves the net.
type Edge struct {
	From string // a stage, or Entry: exactly one edge begins there
	Port int    // of From, 0 to 63
	To   string
	Cap  int    // batches that may wait, 1 to 65,536; 0 means 16
	Full Policy // what happens to more
}

// Way is how a net runs.
type Way int

// The ways.
const (
	Chain   Way = iota // nested calls
	Network            // goroutines joined by queues
)

func (w Way) String() string { return [...]string{"chain", "network"}[w] }

// MarshalText writes the way's name.
func (w Way) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// Net is a network of stages. Its methods may be called from any goroutine.
type Net[T any] struct {
	stages []*node[T] // immutable, as are edges and failed
	edges  []*edge
	failed func(T, error)
	drain  time.Duration
	pool   sync.Pool // of *[]T with room for MaxBatch: from whoever empties a batch to whoever fills one

	way  Way           // set by Run, before it opens the net
	done chan struct{} // closed by Run: nobody waits any longer

	spare atomic.Pointer[walk[T]] // a walk at rest, within reach without a lock
	shut  atomic.Bool             // Put takes nothing more
	over  atomic.Bool             // done is closed, for those who only look

	mu    sync.Mutex // guards what follows
	state state
	walks int        // made
	rest  []*walk[T] // at rest
	lanes []*lane
}

type state int

const (
	fresh state = iota
	running
	ended
)

// node is a stage with what joins it to the others.
type node[T any] struct {
	Stage[T]
	number int
	ports  []*edge        // by port; nil: nobody listens
	queue  chan parcel[T] // Network. From the workers of other stages and from Put -> to this stage's workers; never closed
	seats  chan struct{}  // Chain, with a Width: from the walk that enters -> to itself when it leaves
	queued atomic.Int64   // Chain, with a Width: walks that wait for a seat
}

// edge is an Edge with its numbers.
type edge struct {
	Edge
	number, to int
}

// parcel is a batch under way.
type parcel[T any] struct {
	items []T
	edge  int
}

// New builds a net and refuses, with the place named, what could not work. Failed is given each item that is lost to a panic, a
// refusal or a deadline, by the goroutine that lost it: it must not block, and may be called by several
// at once. drain is how long a stop may take, 0 meaning 5 s.
func New[T any](stages []Stage[T], edges []Edge, failed func(item T, why error), drain time.Duration) (*Net[T], error) {
	if drain <= 0 {
		drain = 5 * time.Second
	}
	n := &Net[T]{failed: failed, drain: drain, done: make(chan struct{})}
	n.pool.New = func() any { b := make([]T, 0, MaxBatch); return &b }
	byName := map[string]*node[T]{}
	for i, s := range stages {
		if err := checkStage(s, byName); err != nil {
			return nil, err
		}
		byName[s.Name] = &node[T]{Stage: s, number: i}
		n.stages = append(n.stages, byName[s.Name])
	}
	for _, e := range edges {
		if err := n.join(e, byName); err != nil {
			return nil, err
		}
	}
	return n, n.check()
}

func checkStage[T any](s Stage[T], taken map[string]*node[T]) error {
	switch {
	case s.Name == Entry:
		return errors.New("flow: a stage has no name: give it one")
	case taken[s.Name] != nil:
		return fmt.Errorf("flow: two stages are called %s: rename one", s.Name)
	case s.Do == nil:
		return fmt.Errorf("flow: the stage %s does nothing: set Do", s.Name)
	case s.Width < 0 || s.Width > 1<<16:
		return fmt.Errorf("flow: the stage %s has a width of %d: choose 0 to 65536", s.Name, s.Width)
	}
	return nil
}

// join adds an edge.
func (n *Net[T]) join(e Edge, byName map[string]*node[T]) error {
	if e.Cap == 0 {
		e.Cap = 16
	}
	from, to := byName[e.From], byName[e.To]
	switch {
	case to == nil:
		return fmt.Errorf("flow: the edge from %q leads to %q, and no stage is called so", e.From, e.To)
	case from == nil && e.From != Entry:
		return fmt.Errorf("flow: the edge to %q comes from %q, and no stage is called so", e.To, e.From)
	case e.Port < 0 || e.Port > 63 || from == nil && e.Port != 0:
		return fmt.Errorf("flow: the edge from %q to %s has port %d: ports are 0 to 63, and the entry's is 0", e.From, e.To, e.Port)
	case e.Cap < 0 || e.Cap > 1<<16:
		return fmt.Errorf("flow: the edge from %q to %s holds %d batches: choose 1 to 65536", e.From, e.To, e.Cap)
	}
	added := &edge{Edge: e, number: len(n.edges), to: to.number}
	n.edges = append(n.edges, added)
	if from == nil {
		return nil
	}
	for len(from.ports) <= e.Port {
		from.ports = append(from.ports, nil)
	}
	if from.ports[e.Port] != nil {
		return fmt.Errorf("flow: two edges leave port %d of %s: let a Broadcast stage send to both", e.Port, e.From)
	}
	from.ports[e.Port] = added
	return nil
}

// Run runs the net until ctx ends and all that was under way has passed through, or the drain time has passed since. A net
// runs once.
func (n *Net[T]) Run(ctx context.Context, way Way) error {
	if way == Chain {
		if names := n.cycle(func(*edge) bool { return true }); names != "" {
			return fmt.Errorf("flow: %s is a cycle, which a chain of calls would follow for ever: run it as a network", names)
		}
	}
	n.mu.Lock()
	if n.state != fresh {
		n.mu.Unlock()
		return errors.New("flow: a net runs once: build another")
	}
	n.way, n.state = way, running
	workers := n.prepare()
	n.mu.Unlock()
	ends := n.start(workers)
	<-ctx.Done()
	return n.stop(ends)
}

// prepare makes what the way needs. The caller holds the lock.
func (n *Net[T]) prepare() (workers []*worker[T]) {
	for _, s := range n.stages {
		switch {
		case n.way == Network:
			s.queue = make(chan parcel[T], n.room(s))
			for range max(1, s.Width) {
				workers = append(workers, n.newWorker(s))
			}
		case s.Width > 0:
			s.seats = make(chan struct{}, s.Width)
		}
	}
	return workers
}

// room is what the queue of s holds, in batches.
func (n *Net[T]) room(s *node[T]) (room int) {
	for _, e := range n.edges {
		if e.to == s.number {
			room += e.Cap
		}
	}
	return room
}

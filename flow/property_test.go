package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The kinds of stages of a random net.
const (
	passes   = iota // the batch as it is
	halves          // the batch in two parts
	sends           // items one by one
	singles         // each item as a batch of its own
	branches        // each item by the port that it names, or out of the net
	broadcasts
	kinds
)

// graph is a random net without cycles.
type graph struct {
	kind    []int
	ports   [][]int // by stage and port: the next stage, -1 for none
	panicOn []int   // by stage: items with this remainder by 7 make it panic, -1 for none
	childOf []int   // by stage: of items with this remainder by 23 it puts a child, -1 for none
	width   []int
	policy  []Policy // of the edges that lead to the stage
	room    []int    // of the edges that lead to the stage, in batches
}

// drawGraph draws a graph. Edges always wait unless lossy.
func drawGraph(t *rapid.T, lossy bool) *graph {
	g := &graph{}
	stages := rapid.IntRange(1, 6).Draw(t, "stages")
	led := make([]bool, stages)
	floods := 0 // broadcasts multiply the items: two are enough
	for i := range stages {
		kind := rapid.IntRange(0, kinds-1).Draw(t, "kind")
		if kind == broadcasts {
			if floods++; floods > 2 {
				kind = sends
			}
		}
		g.kind = append(g.kind, kind)
		trip := -1
		if kind == sends || kind == singles || kind == branches {
			trip = rapid.IntRange(-1, 6).Draw(t, "trip")
		}
		g.panicOn = append(g.panicOn, trip)
		puts := rapid.IntRange(-23, 22).Draw(t, "puts")
		g.childOf = append(g.childOf, max(-1, puts))
		g.width = append(g.width, rapid.IntRange(0, 3).Draw(t, "width"))
		g.room = append(g.room, rapid.IntRange(1, 3).Draw(t, "room"))
		g.policy = append(g.policy, Wait)
		if lossy {
			g.policy[i] = Policy(rapid.IntRange(0, 2).Draw(t, "policy"))
		}
		if puts >= 0 {
			g.policy[0] = Wait // then all items that stages put are taken
		}
		var ports []int
		if i+1 < stages {
			for range rapid.IntRange(1, 3).Draw(t, "ports") {
				ports = append(ports, rapid.IntRange(i, stages-1).Draw(t, "to"))
			}
			for p, to := range ports {
				if to == i {
					ports[p] = -1
				} else {
					led[to] = true
				}
			}
			if !led[i+1] {
				ports, led[i+1] = append(ports, i+1), true
			}
		}
		g.ports = append(g.ports, ports)
	}
	return g
}

// choose returns the port by which a branching stage sends an item.
func (g *graph) choose(stage, item int) int { return item%(len(g.ports[stage])+1) - 1 }

// panics reports whether an item makes the stage panic.
func (g *graph) panics(stage, item int) bool {
	return g.panicOn[stage] >= 0 && item%7 == g.panicOn[stage]
}

// generation is the difference between an item and its child. Children of the second generation
// have none.
const generation = 1_000_000

// child returns the item that a stage puts for an item, -1 for none.
func (g *graph) child(stage, item int) int {
	if item >= 2*generation || g.childOf[stage] < 0 || item%23 != g.childOf[stage] {
		return -1
	}
	return item + generation
}

// tally counts items, by stage or by reason.
type tally map[string]map[int]int

func (c tally) add(where string, item int) {
	if c[where] == nil {
		c[where] = map[int]int{}
	}
	c[where][item]++
}

func (c tally) sum(where string) (sum uint64) {
	for _, n := range c[where] {
		sum += uint64(n)
	}
	return sum
}

func name(stage int) string { return fmt.Sprint("stage", stage) }

// model returns what each stage should receive, and what is lost, without any concurrency.
func (g *graph) model(items []int) tally {
	c := tally{}
	var deliver func(stage, item int)
	deliver = func(stage, item int) {
		if stage < 0 {
			return
		}
		c.add(name(stage), item)
		if child := g.child(stage, item); child >= 0 {
			c.add("put", child)
			deliver(0, child)
		}
		if g.panics(stage, item) {
			c.add("lost", item)
			return
		}
		for port, to := range g.ports[stage] {
			if g.kind[stage] == broadcasts || g.kind[stage] == branches && port == g.choose(stage, item) || g.kind[stage] < branches && port == 0 {
				deliver(to, item)
			}
		}
	}
	for _, item := range items {
		deliver(0, item)
	}
	return c
}

// trial is a run of a graph.
type trial struct {
	*Net[int]
	g      *graph
	cancel context.CancelFunc
	ended  chan error // from Run, one result -> stop

	mu   sync.Mutex
	seen tally // what each stage received, what stages put, and what was lost
}

func (r *trial) add(where string, item int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.add(where, item)
}

// do returns the Do of a stage of a graph, which sleeps for each item.
func (r *trial) do(stage int, slow time.Duration) func([]int, *Out[int]) {
	meet := func(item int, out *Out[int]) {
		r.add(name(stage), item)
		time.Sleep(slow)
		if child := r.g.child(stage, item); child >= 0 {
			r.add("put", child)
			out.Put([]int{child})
		}
		if r.g.panics(stage, item) {
			panic("tripped")
		}
	}
	all := func(in []int, out *Out[int]) {
		for _, item := range in {
			meet(item, out)
		}
	}
	switch r.g.kind[stage] {
	case passes:
		return func(in []int, out *Out[int]) { all(in, out); out.Pass(0, in) }
	case halves:
		return func(in []int, out *Out[int]) {
			all(in, out)
			out.Pass(0, in[:len(in)/2])
			out.Pass(0, in[len(in)/2:])
		}
	case sends:
		return Each(func(item int, out *Out[int]) { meet(item, out); out.Send(0, item) })
	case singles:
		return Each(func(item int, out *Out[int]) { meet(item, out); out.Pass(0, []int{item}) })
	case branches:
		return Each(func(item int, out *Out[int]) { meet(item, out); out.Send(r.g.choose(stage, item), item) })
	}
	broadcast := Broadcast[int](len(r.g.ports[stage]))
	return func(in []int, out *Out[int]) { all(in, out); broadcast(in, out) }
}

// start runs a graph.
func (g *graph) start(t *rapid.T, way Way, slow time.Duration) *trial {
	r := &trial{g: g, ended: make(chan error, 1), seen: tally{}}
	var stages []Stage[int]
	edges := []Edge{{To: name(0), Cap: g.room[0], WhenFull: g.policy[0]}}
	for i := range g.kind {
		stages = append(stages, Stage[int]{Name: name(i), Width: g.width[i], Do: r.do(i, slow)})
		for port, to := range g.ports[i] {
			if to >= 0 {
				edges = append(edges, Edge{From: name(i), Port: port, To: name(to), Cap: g.room[to], WhenFull: g.policy[to]})
			}
		}
	}
	var err error
	if r.Net, err = New(stages, edges, func(item int, _ error) { r.add("lost", item) }, time.Minute); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- r.Run(ctx, way) }()
	synctest.Wait()
	return r
}

// wantSums checks a snapshot against itself and against the items seen.
func (r *trial) wantSums(t *rapid.T, accepted int) {
	s := r.Snapshot()
	if put := r.seen.sum("put"); s.Edges[0].Items != uint64(accepted)+put {
		t.Fatalf("the entry counted %d items, want the %d that Net.Put accepted and the %d that stages put", s.Edges[0].Items, accepted, put)
	}
	var lost uint64
	for i, stage := range s.Stages {
		var in, out uint64
		for k, e := range s.Edges {
			if e.To == stage.Name {
				in += e.Items - e.Depth
			}
			if e.From == stage.Name && k > 0 {
				out += e.Items + e.Dropped + e.Refused
				lost += e.Refused
			}
		}
		lost += stage.Failed
		want := stage.Items - stage.Failed
		if r.g.kind[i] == broadcasts {
			want *= uint64(len(r.g.ports[i]))
		}
		if in != stage.Items || stage.Items != r.seen.sum(stage.Name) || out+stage.Left != want {
			t.Fatalf("%s handled %d items, of which %d came in, %d were seen and %d went out or were left over; want all in and seen, and %d out:\n%+v", stage.Name, stage.Items, in, r.seen.sum(stage.Name), out+stage.Left, want, s)
		}
	}
	if lost != r.seen.sum("lost") {
		t.Fatalf("the snapshot has %d lost items, want the %d of the error function", lost, r.seen.sum("lost"))
	}
}

// virtualTime is a test in virtual time, whose deadline rapid must not read.
type virtualTime struct{ *testing.T }

// property checks a property of random graphs in virtual time: a goroutine that blocks for ever
// fails the test.
func property(t *testing.T, check func(*rapid.T, Way)) {
	for _, way := range []Way{Chain, Network} {
		t.Run(string(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { rapid.Check(virtualTime{t}, func(t *rapid.T) { check(t, way) }) })
		})
	}
}

// Both models agree with a sequential model, with panics at random places: only the item in hand is
// lost, and all others reach their stages.
func TestEveryNetAgreesWithTheModel(t *testing.T) {
	property(t, func(t *rapid.T, way Way) {
		g := drawGraph(t, false)
		r := g.start(t, way, 0)
		var items []int
		for _, size := range rapid.SliceOfN(rapid.IntRange(1, 150), 1, 20).Draw(t, "batches") {
			batch := make([]int, size)
			for i := range batch {
				batch[i] = len(items) + i
			}
			if got := r.Put(batch); got != size {
				t.Fatalf("Put accepted %d items, want %d", got, size)
			}
			items = append(items, batch...)
		}
		r.cancel()
		if err := <-r.ended; err != nil {
			t.Fatal(err)
		}
		for where, want := range g.model(items) {
			if !maps.Equal(r.seen[where], want) {
				t.Fatalf("%s: %v, want %v", where, r.seen[where], want)
			}
		}
		r.wantSums(t, len(items))
	})
}

// Nets with full edges are stopped in the middle of the load of several callers: each item comes
// out or is reported.
func TestEveryLossIsReported(t *testing.T) {
	property(t, func(t *rapid.T, way Way) {
		g := drawGraph(t, true)
		r := g.start(t, way, time.Microsecond)
		size := rapid.IntRange(1, 80).Draw(t, "size")
		var callers sync.WaitGroup
		accepted := make([]int, rapid.IntRange(1, 3).Draw(t, "callers"))
		for c := range accepted {
			callers.Go(func() {
				for i := range 20 {
					batch := make([]int, size)
					for k := range batch {
						batch[k] = (c*20+i)*size + k
					}
					accepted[c] += r.Put(batch)
					time.Sleep(time.Microsecond)
				}
			})
		}
		time.Sleep(time.Duration(rapid.IntRange(0, 2000).Draw(t, "stop")) * time.Microsecond)
		r.cancel()
		if err := <-r.ended; err != nil {
			t.Fatal(err)
		}
		callers.Wait()
		sum := 0
		for _, n := range accepted {
			sum += n
		}
		r.wantSums(t, sum)
	})
}

// A line of stages hangs, is stopped, and continues after the deadline: each item comes out or is
// reported.
func TestEveryItemIsAccountedForAfterADeadline(t *testing.T) {
	property(t, func(t *rapid.T, way Way) {
		var mu sync.Mutex
		fate, put := map[int]int{}, map[int]int{}
		account := func(item int) {
			mu.Lock()
			defer mu.Unlock()
			fate[item]++
		}
		release := make(chan struct{}) // closed below: lets the stages go on
		length := rapid.IntRange(1, 4).Draw(t, "stages")
		var stages []Stage[int]
		var names []string
		for i := range length {
			hangs := rapid.IntRange(0, 20).Draw(t, "hangs") // by which item
			// another item after those with this remainder by 5
			puts := rapid.IntRange(-1, 4).Draw(t, "puts")
			stages = append(stages, Stage[int]{Name: name(i), Width: rapid.IntRange(0, 2).Draw(t, "width"), Do: func(in []int, out *Out[int]) {
				if in[0] == hangs {
					<-release
				}
				for _, item := range in {
					if item%5 == puts && item < 20 {
						mu.Lock()
						put[item+20]++
						mu.Unlock()
						out.Put([]int{item + 20})
					}
				}
				if i < length-1 {
					out.Pass(0, in)
					return
				}
				for _, item := range in {
					account(item)
				}
			}})
			names = append(names, name(i))
		}
		edges := line(names...)
		for i := range edges {
			edges[i].Cap = rapid.IntRange(1, 4).Draw(t, "cap")
		}
		n, err := New(stages, edges, func(item int, _ error) { account(item) }, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1) // from Run, one result -> below
		go func() { ended <- n.Run(ctx, way) }()
		synctest.Wait()
		var callers sync.WaitGroup
		accepted := make([]int, 20)
		for i := range accepted {
			callers.Go(func() { accepted[i] = n.Put([]int{i}) })
		}
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, ErrDeadline) {
			t.Fatal(err)
		}
		close(release)
		callers.Wait()
		synctest.Wait()
		for i, taken := range accepted {
			if fate[i] != taken {
				t.Fatalf("item %d came out or was reported %d times, want %d: as often as Put accepted it", i, fate[i], taken)
			}
			if child := i + 20; fate[child] != put[child] {
				t.Fatalf("item %d came out or was reported %d times, want %d: as often as stages put it", child, fate[child], put[child])
			}
		}
	})
}

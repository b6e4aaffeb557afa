package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// eachModel runs a test once by each concurrency model, in virtual time.
func eachModel(t *testing.T, test func(*testing.T, Way)) {
	for _, way := range []Way{Chain, Network} {
		t.Run(string(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, way) })
		})
	}
}

// testNet is a net under test, with the items that came out of it and that were lost.
type testNet struct {
	*Net[int]
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error // from Run, one result -> stop

	mu   sync.Mutex
	out  []int
	lost map[string][]int
}

// sink is a Do that collects its items.
func (n *testNet) sink(in []int, _ *Out[int]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out = append(n.out, in...)
}

func (n *testNet) fail(item int, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := why.Error()
	var p *PanicError
	if errors.As(why, &p) {
		name = fmt.Sprint(p.Value)
	}
	n.lost[name] = append(n.lost[name], item)
}

// run builds and starts a net. Stages whose Do is nil collect.
func run(t *testing.T, way Way, stages []Stage[int], edges []Edge) *testNet {
	t.Helper()
	n := &testNet{t: t, ended: make(chan error, 1), lost: map[string][]int{}}
	for i := range stages {
		if stages[i].Do == nil {
			stages[i].Do = n.sink
		}
	}
	var err error
	if n.Net, err = New(stages, edges, n.fail, time.Second); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n.cancel = cancel
	go func() { n.ended <- n.Run(ctx, way) }()
	synctest.Wait()
	return n
}

func (n *testNet) stop(want error) {
	n.t.Helper()
	n.cancel()
	if err := <-n.ended; err != want {
		n.t.Errorf("Run returned %v, want %v", err, want)
	}
}

func (n *testNet) wantOut(want ...int) {
	n.t.Helper()
	slices.Sort(n.out)
	if !slices.Equal(n.out, want) {
		n.t.Errorf("%v came out, want %v", n.out, want)
	}
}

func (n *testNet) wantLost(why string, want ...int) {
	n.t.Helper()
	slices.Sort(n.lost[why])
	if !slices.Equal(n.lost[why], want) {
		n.t.Errorf("lost to %q: %v, want %v (all: %v)", why, n.lost[why], want, n.lost)
	}
}

func (n *testNet) put(items ...int) {
	n.t.Helper()
	if got := n.Put(items); got != len(items) {
		n.t.Errorf("Put accepted %d items, want %d", got, len(items))
	}
}

func add(k int) func([]int, *Out[int]) {
	return Each(func(item int, out *Out[int]) { out.Send(0, item+k) })
}

// line joins stages one after another.
func line(names ...string) (edges []Edge) {
	from := Entry
	for _, to := range names {
		edges = append(edges, Edge{From: from, To: to})
		from = to
	}
	return edges
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestItemsPassThroughAllStagesInOrder(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		pass := func(in []int, out *Out[int]) { out.Pass(0, in) }
		n := run(t, way, []Stage[int]{{Name: "a", Do: add(1)}, {Name: "b", Do: pass}, {Name: "end"}}, line("a", "b", "end"))
		n.put(upTo(1000)...)
		n.stop(nil)
		if len(n.out) != 1000 || !slices.IsSorted(n.out) || n.out[999] != 1000 {
			t.Errorf("%d items came out, want 1 to 1000 in order", len(n.out))
		}
	})
}

func TestStopCompletesTakenItems(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		slow := func(in []int, out *Out[int]) { time.Sleep(10 * time.Millisecond); out.Pass(0, in) }
		n := run(t, way, []Stage[int]{{Name: "slow", Do: slow}, {Name: "end"}}, line("slow", "end"))
		for i := range 10 {
			n.put(i)
		}
		n.stop(nil)
		n.wantOut(upTo(10)...)
		if n.Put([]int{1}) != 0 {
			t.Error("Put accepted an item after the stop, want 0")
		}
	})
}

func TestStopGivesUpAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{}) // closed below: lets the stuck stage go
		stuck := func([]int, *Out[int]) { <-release }
		n := run(t, Network, []Stage[int]{{Name: "stuck", Do: stuck}}, line("stuck"))
		n.put(1)
		n.put(2)
		n.stop(ErrDeadline)
		close(release)
		synctest.Wait()
		n.wantLost(ErrStopped.Error(), 2)
	})
}

func TestDeadlineReleasesWaitingSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{}) // closed below: lets the stuck stage go
		stuck := func([]int, *Out[int]) { <-release }
		pass := func(in []int, out *Out[int]) { out.Pass(0, in) }
		n := run(t, Network, []Stage[int]{{Name: "pass", Do: pass}, {Name: "stuck", Do: stuck}},
			[]Edge{{To: "pass"}, {From: "pass", To: "stuck", Cap: 1}})
		for i := range 5 { // 0 in hand, 1 queued, 2 waits for room, 3 and 4 before it
			n.put(i)
			synctest.Wait()
		}
		n.stop(ErrDeadline)
		close(release)
		synctest.Wait()
		n.wantLost(ErrStopped.Error(), 1, 2, 3, 4)
	})
}

func TestPanicLosesOnlyTheItemInHand(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		odd := Each(func(item int, out *Out[int]) {
			if item%2 == 1 {
				panic("odd")
			}
			out.Send(0, item)
		})
		n := run(t, way, []Stage[int]{{Name: "odd", Do: odd}, {Name: "end"}}, line("odd", "end"))
		n.put(upTo(6)...)
		n.put(6)
		n.stop(nil)
		n.wantOut(0, 2, 4, 6)
		n.wantLost("odd", 1, 3, 5)
	})
}

func TestPanicBehindAPassLosesOnlyItsItem(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		pass := func(in []int, out *Out[int]) { out.Pass(0, in) }
		twice := Each(func(item int, out *Out[int]) { out.Send(1, item+100); out.Pass(0, []int{item}) })
		bad := Each(func(item int, out *Out[int]) {
			if item == 2 {
				panic("two")
			}
			out.Send(0, item)
		})
		n := run(t, way, []Stage[int]{{Name: "pass", Do: pass}, {Name: "twice", Do: twice}, {Name: "bad", Do: bad}, {Name: "end"}},
			append(line("pass", "twice", "bad", "end"), Edge{From: "twice", Port: 1, To: "end"}))
		for i := range 4 {
			n.put(i)
		}
		n.put(2, 3, 2)
		n.stop(nil)
		n.wantOut(0, 1, 3, 3, 100, 101, 102, 102, 102, 103, 103)
		n.wantLost("two", 2, 2, 2)
	})
}

func TestPanicOfABatchLosesItemsNotSentOn(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		half := func(in []int, out *Out[int]) {
			out.Pass(0, in[:len(in)/2])
			panic("half")
		}
		n := run(t, way, []Stage[int]{{Name: "half", Do: half}, {Name: "end"}}, line("half", "end"))
		n.put(upTo(6)...)
		n.stop(nil)
		n.wantOut(0, 1, 2)
		n.wantLost("half", 3, 4, 5)
	})
}

func TestAFullQueueFollowsItsPolicy(t *testing.T) {
	for _, c := range []struct {
		policy           Policy
		out              []int
		lost             []int
		dropped, refused uint64
	}{
		{Wait, upTo(10), nil, 0, 0},
		{Drop, []int{0, 1, 2}, nil, 7, 0},
		{Refuse, []int{0, 1, 2}, []int{3, 4, 5, 6, 7, 8, 9}, 0, 7},
	} {
		t.Run(c.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				each := Each(func(item int, out *Out[int]) { out.Pass(0, []int{item}) })
				var n *testNet
				slow := func(in []int, out *Out[int]) { time.Sleep(time.Millisecond); n.sink(in, out) }
				n = run(t, Network, []Stage[int]{{Name: "each", Do: each}, {Name: "slow", Do: slow}},
					[]Edge{{To: "each"}, {From: "each", To: "slow", Cap: 2, WhenFull: c.policy}})
				n.put(0)
				synctest.Wait() // the slow stage handles 0
				n.put(upTo(10)[1:]...)
				n.stop(nil)
				n.wantOut(c.out...)
				n.wantLost(ErrFull.Error(), c.lost...)
				if e := n.Snapshot().Edges[1]; e.Dropped != c.dropped || e.Refused != c.refused || e.Items != uint64(len(c.out)) || e.Depth != 0 {
					t.Errorf("the edge counted %+v, want %d items, %d dropped, %d refused", e, len(c.out), c.dropped, c.refused)
				}
			})
		})
	}
}

func TestPutReportsWhatAFullEntryRefused(t *testing.T) {
	for _, policy := range []Policy{Drop, Refuse} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{}) // closed below: lets the stage go
			n := run(t, Network, []Stage[int]{{Name: "slow", Do: func([]int, *Out[int]) { <-release }}}, []Edge{{To: "slow", Cap: 1, WhenFull: policy}})
			n.put(1)
			synctest.Wait() // the stage handles 1
			n.put(2)
			if got := n.Put([]int{3}); got != 0 {
				t.Errorf("Put accepted %d items into a full net, want 0", got)
			}
			close(release)
			n.stop(nil)
			if e := n.Snapshot().Edges[0]; e.Dropped+e.Refused != 1 || e.Items != 2 {
				t.Errorf("the entry counted %+v, want 2 items and 1 dropped or refused", e)
			}
			if len(n.lost) > 0 {
				t.Errorf("the error function received %v, want nothing: Put reported the loss to its caller", n.lost)
			}
		})
	}
}

// The parts of a batch must not share buffers that are used again.
func TestAStageMayPassItsBatchInParts(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		parts := func(in []int, out *Out[int]) {
			for i := len(in) - 1; i >= 0; i-- {
				out.Pass(0, in[i:i+1])
			}
		}
		hold := func(in []int, out *Out[int]) { time.Sleep(time.Millisecond); out.Pass(0, in) }
		n := run(t, way, []Stage[int]{{Name: "parts", Do: parts}, {Name: "hold", Width: 3, Do: hold}, {Name: "end"}}, line("parts", "hold", "end"))
		for i := range 10 {
			n.put(upTo(100)[10*i : 10*i+10]...)
		}
		n.stop(nil)
		n.wantOut(upTo(100)...)
	})
}

func TestWidthBoundsCalls(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		var mu sync.Mutex
		now, most := 0, 0
		slow := func([]int, *Out[int]) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
		}
		n := run(t, way, []Stage[int]{{Name: "slow", Width: 3, Do: slow}}, line("slow"))
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() { n.put(i) })
		}
		callers.Wait()
		n.stop(nil)
		if most != 3 {
			t.Errorf("%d calls were at work at once, want 3", most)
		}
	})
}

func TestItemsBranchMergeAndAreBroadcast(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		n := run(t, way, []Stage[int]{
			// 0: leaves; 1: port 0; 2: port 1
			{Name: "sign", Do: Branch(func(i int) int { return i%3 - 1 })},
			{Name: "more", Do: add(100)}, {Name: "both", Do: Broadcast[int](2)},
			{Name: "merge", Do: Merge[int]()}, {Name: "end"},
		}, []Edge{{To: "sign"}, {From: "sign", Port: 0, To: "more"}, {From: "sign", Port: 1, To: "both"},
			{From: "more", To: "merge"}, {From: "both", Port: 0, To: "merge"}, {From: "both", Port: 1, To: "merge"}, {From: "merge", To: "end"}})
		n.put(upTo(6)...)
		n.stop(nil)
		n.wantOut(2, 2, 5, 5, 101, 104)
		if got := n.Snapshot().Stages[0]; got.Left != 2 || got.Items != 6 {
			t.Errorf("the branch counted %+v, want 6 items, of which 2 left the net", got)
		}
	})
}

func TestACycleThatDropsRunsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := Branch(func(i int) int { return i % 2 })
		n := run(t, Network, []Stage[int]{{Name: "again", Do: again}, {Name: "less", Do: add(-1)}, {Name: "end"}},
			[]Edge{{To: "again"}, {From: "again", Port: 0, To: "end"}, {From: "again", Port: 1, To: "less"}, {From: "less", To: "again", WhenFull: Drop}})
		n.put(upTo(10)...)
		n.stop(nil)
		n.wantOut(0, 0, 2, 2, 4, 4, 6, 6, 8, 8)
	})
}

func TestSnapshotCountsEverything(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		slow := Each(func(i int, out *Out[int]) { time.Sleep(time.Millisecond); out.Send(0, i) })
		n := run(t, way, []Stage[int]{{Name: "slow", Do: slow}, {Name: "end"}}, line("slow", "end"))
		for i := range 200 {
			n.put(i)
		}
		n.stop(nil)
		s := n.Snapshot()
		if s.Way != way || s.Stages[0].Items != 200 || s.Stages[1].Items != 200 || s.Edges[1].Items != 200 || s.Edges[1].Depth != 0 {
			t.Errorf("got %+v, want 200 items at both stages and edges", s)
		}
		if s.Stages[0].ServiceNS != 1e6 || s.Stages[1].ServiceNS != 0 {
			t.Errorf("service times are %v and %v ns, want 1e6 and 0", s.Stages[0].ServiceNS, s.Stages[1].ServiceNS)
		}
	})
}

func TestManyCallersLoseNothing(t *testing.T) {
	for _, way := range []Way{Chain, Network} {
		t.Run(string(way), func(t *testing.T) {
			n := &testNet{t: t, ended: make(chan error, 1), lost: map[string][]int{}}
			net, err := New([]Stage[int]{{Name: "a", Do: add(0)}, {Name: "b", Width: 2, Do: add(0)}, {Name: "end", Do: n.sink}}, line("a", "b", "end"), n.fail, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() { n.ended <- net.Run(ctx, way) }()
			for net.Put([]int{-1}) == 0 { // until it runs
				time.Sleep(time.Millisecond)
			}
			var callers sync.WaitGroup
			for c := range 8 {
				callers.Go(func() {
					for i := range 500 {
						if net.Put([]int{c*500 + i}) != 1 {
							t.Error("Put did not accept its item, want it accepted")
						}
						net.Snapshot()
					}
				})
			}
			callers.Wait()
			cancel()
			if err := <-n.ended; err != nil {
				t.Fatal(err)
			}
			n.wantOut(append([]int{-1}, upTo(4000)...)...)
		})
	}
}

// A net that is stopped under load of several callers completes every item that Put took.
func TestAStopUnderLoadLosesNoAcceptedItem(t *testing.T) {
	for _, way := range []Way{Chain, Network} {
		t.Run(string(way), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var came atomic.Int64
			end := func(in []int, _ *Out[int]) {
				if came.Add(int64(len(in))) > 5000 {
					cancel()
				}
			}
			n, err := New([]Stage[int]{{Name: "a", Do: add(1)}, {Name: "b", Width: 2, Do: Merge[int]()}, {Name: "end", Do: end}}, line("a", "b", "end"), nil, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1) // from Run, one result -> below
			go func() { ended <- n.Run(ctx, way) }()
			var accepted atomic.Int64
			var callers sync.WaitGroup
			for c := range 4 {
				batch := make([]int, 1+c*30)
				callers.Go(func() {
					for ctx.Err() == nil {
						accepted.Add(int64(n.Put(batch)))
					}
				})
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			callers.Wait()
			if came.Load() != accepted.Load() {
				t.Errorf("got %d items, want the %d that Put accepted", came.Load(), accepted.Load())
			}
		})
	}
}

func TestANetRunsOnce(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		n := run(t, way, []Stage[int]{{Name: "end"}}, line("end"))
		n.stop(nil)
		if err := n.Run(t.Context(), way); err == nil {
			t.Error("a net ran twice, want an error")
		}
	})
}

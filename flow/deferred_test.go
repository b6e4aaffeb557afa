package flow

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each item below 64 becomes two, however little room the net has.
func TestAStagePutsIntoItsOwnNetWithoutWaiting(t *testing.T) {
	for _, width := range []int{0, 1, 3} {
		eachModel(t, func(t *testing.T, way Way) {
			split := Each(func(item int, out *Out[int]) {
				if item < 64 {
					out.Put([]int{2 * item, 2*item + 1})
					return
				}
				out.Send(0, item)
			})
			n := run(t, way, []Stage[int]{{Name: "first", Width: width, Do: Merge[int]()}, {Name: "split", Width: width, Do: split}, {Name: "end"}},
				[]Edge{{To: "first", Cap: 1}, {From: "first", To: "split", Cap: 1}, {From: "split", To: "end", Cap: 1}})
			n.put(1)
			n.put(1)
			n.stop(nil) // the stop takes what stages put meanwhile, too
			n.wantOut(slices.Sorted(slices.Values(append(upTo(128)[64:], upTo(128)[64:]...)))...)
			if e := n.Snapshot().Edges[0]; e.Items != 2*127 || e.Depth != 0 {
				t.Errorf("the entry counted %+v, want %d items", e, 2*127)
			}
		})
	}
}

// By Chain the items that a stage puts pass through before Put returns, and only when no call of a
// stage is under way.
func TestByChainOutPutRunsBeforePutReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		depth := 0
		nest := Each(func(item int, out *Out[int]) {
			if depth++; depth > 1 {
				t.Errorf("item %d: got %d calls inside one another, want 1", item, depth)
			}
			if item < 3 {
				out.Put([]int{item + 1})
			}
			out.Send(0, item)
			depth--
		})
		n := run(t, Chain, []Stage[int]{{Name: "nest", Width: 1, Do: nest}, {Name: "end"}}, line("nest", "end"))
		n.put(1)
		if want := []int{1, 2, 3}; !slices.Equal(n.out, want) {
			t.Errorf("when Put returned, %v had come out, want %v", n.out, want)
		}
		n.stop(nil)
	})
}

// A stage's batch is copied in parts of at most MaxBatch, as that of Net.Put is.
func TestAStageMayPutMoreThanABatch(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		many := func(in []int, out *Out[int]) {
			if in[0] >= 0 {
				out.Pass(0, in)
				return
			}
			batch := upTo(1000)
			out.Put(batch)
			clear(batch)
		}
		n := run(t, way, []Stage[int]{{Name: "many", Do: many}, {Name: "end"}}, line("many", "end"))
		n.put(-1)
		n.stop(nil)
		n.wantOut(upTo(1000)...)
	})
}

// The entry's policy decides by Network; by Chain no edge is full.
func TestTheEntrysPolicyHoldsForOutPut(t *testing.T) {
	for _, c := range []struct {
		policy           Policy
		out, lost        []int
		dropped, refused uint64
	}{
		{Wait, []int{0, 1, 2, 3, 4}, nil, 0, 0},
		{Drop, []int{0, 1, 2}, nil, 2, 0},
		{Refuse, []int{0, 1, 2}, []int{3, 4}, 0, 2},
	} {
		t.Run(c.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := Each(func(item int, out *Out[int]) {
					if item == 0 {
						for i := range 4 {
							out.Put([]int{i + 1})
						}
					}
					out.Send(0, item)
				})
				n := run(t, Network, []Stage[int]{{Name: "first", Do: first}, {Name: "end"}},
					[]Edge{{To: "first", Cap: 2, WhenFull: c.policy}, {From: "first", To: "end"}})
				n.put(0)
				n.stop(nil)
				n.wantOut(c.out...)
				n.wantLost(ErrFull.Error(), c.lost...)
				if e := n.Snapshot().Edges[0]; e.Items != uint64(len(c.out)) || e.Dropped != c.dropped || e.Refused != c.refused {
					t.Errorf("the entry counted %+v, want %d items, %d dropped, %d refused", e, len(c.out), c.dropped, c.refused)
				}
			})
		})
	}
}

// A net keeps 65,536 deferred batches and refuses more.
func TestDeferredBatchesAreBounded(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		kept := maxDeferred
		if way == Network {
			kept++ // one is in the queue
		}
		flood := Each(func(item int, out *Out[int]) {
			if item >= 0 {
				out.Send(0, item)
				return
			}
			for i := range kept + 3 {
				out.Put([]int{i})
			}
		})
		n := run(t, way, []Stage[int]{{Name: "flood", Do: flood}, {Name: "end"}}, []Edge{{To: "flood", Cap: 1}, {From: "flood", To: "end"}})
		n.put(-1)
		synctest.Wait()
		n.stop(nil)
		n.wantLost(ErrFull.Error(), kept, kept+1, kept+2)
		if e := n.Snapshot().Edges[0]; len(n.out) != kept || e.Items != uint64(kept+1) || e.Refused != 3 {
			t.Errorf("%d items came out and the entry counted %+v, want %d, 1 more and 3 refused", len(n.out), e, kept)
		}
	})
}

// An item that a stage puts again and again does not starve the callers that wait at a full entry.
func TestDeferredBatchesAlternateWithTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, each, rounds = 5, 4, 1000
		round := 0
		var waiting atomic.Bool
		waiting.Store(true)
		again := Each(func(item int, out *Out[int]) {
			time.Sleep(time.Millisecond)
			if item >= 0 {
				out.Send(0, item)
			} else if round++; round < rounds {
				out.Put([]int{-1})
			} else if waiting.Load() {
				t.Errorf("callers still waited after %d rounds, want their items taken between the rounds", rounds)
			}
		})
		n := run(t, Network, []Stage[int]{{Name: "again", Do: again}, {Name: "end"}}, []Edge{{To: "again", Cap: 1}, {From: "again", To: "end"}})
		n.put(-1)
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for i := range each {
					n.put(i)
				}
			})
		}
		all.Wait()
		waiting.Store(false)
		time.Sleep(10 * rounds * time.Millisecond)
		n.stop(nil)
		if got, want := len(n.out), callers*each; got != want {
			t.Errorf("%d items came out, want %d", got, want)
		}
	})
}

// A panic or Goexit of a stage does not revoke the items that it has put.
func TestPutItemsOutliveAPanic(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		fall := Each(func(item int, out *Out[int]) {
			if item < 100 {
				out.Put([]int{item + 100})
			}
			switch item % 3 {
			case 0:
				runtime.Goexit()
			case 1:
				panic("fell")
			}
			out.Send(0, item)
		})
		n := run(t, way, []Stage[int]{{Name: "fall", Width: 1, Do: fall}, {Name: "end"}}, line("fall", "end"))
		n.putElsewhere(0, 1, 2, 3, 4, 5)
		synctest.Wait()
		n.put(200)
		n.stop(nil)
		n.wantOut(2, 5, 101, 104, 200)
		n.wantLost(ErrGoexit.Error(), 0, 3, 102, 105)
		n.wantLost("fell", 1, 4, 100, 103)
	})
}

// A stage that puts for ever ends at the stop's deadline.
func TestAStageThatPutsForEverEndsAtTheDeadline(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		again := Each(func(item int, out *Out[int]) { time.Sleep(time.Millisecond); out.Put([]int{item}) })
		n := run(t, way, []Stage[int]{{Name: "again", Do: again}}, line("again"))
		go n.put(1)
		synctest.Wait()
		n.stop(ErrDeadline)
		synctest.Wait()
		n.wantLost(ErrStopped.Error(), 1)
	})
}

// By Chain, a stage may put into another net, where it waits as any other caller.
func TestAPutIntoAnotherNetWaitsForItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := Each(func(item int, out *Out[int]) { time.Sleep(10 * time.Millisecond); out.Send(0, item) })
		inner := run(t, Chain, []Stage[int]{{Name: "slow", Width: 1, Do: slow}, {Name: "end"}}, line("slow", "end"))
		outer := run(t, Chain, []Stage[int]{{Name: "outer", Width: 4, Do: func(in []int, out *Out[int]) { inner.Put(in); out.Pass(0, in) }}, {Name: "end"}},
			line("outer", "end"))
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() { outer.put(i) })
		}
		all.Wait()
		outer.stop(nil)
		inner.stop(nil)
		outer.wantOut(0, 1, 2, 3)
		inner.wantOut(0, 1, 2, 3)
	})
}

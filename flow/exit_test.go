package flow

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// exitOn is a stage that calls Goexit at one item and marks all others, as a check would.
func exitOn(bad int) func([]int, *Out[int]) {
	return Each(func(item int, out *Out[int]) {
		if item == bad {
			runtime.Goexit()
		}
		out.Send(0, item+100)
	})
}

// putElsewhere puts items by a goroutine that a stage may end, and waits for its end.
func (n *testNet) putElsewhere(items ...int) {
	endedc := make(chan struct{})
	go func() {
		defer close(endedc)
		n.Put(items)
	}()
	<-endedc
}

// A stage that calls Goexit loses the item in hand, and no later item skips that stage.
func TestAGoexitIsAPanicOfItsItem(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		n := run(t, way, []Stage[int]{{Name: "check", Do: exitOn(3)}, {Name: "end"}}, line("check", "end"))
		n.putElsewhere(1, 2, 3, 4)
		n.putElsewhere(3)
		n.putElsewhere(5)
		synctest.Wait()
		n.put(6)
		n.stop(nil)
		n.wantOut(101, 102, 104, 105, 106)
		n.wantLost(ErrGoexit.Error(), 3, 3)
	})
}

// The stages before one that calls Goexit finish their work.
func TestAGoexitBehindOtherStagesLosesOneItem(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		pass := func(in []int, out *Out[int]) { out.Pass(0, in) }
		n := run(t, way, []Stage[int]{{Name: "pass", Do: pass}, {Name: "each", Do: add(0)}, {Name: "check", Width: 2, Do: exitOn(3)}, {Name: "end"}},
			line("pass", "each", "check", "end"))
		for range 5 {
			n.putElsewhere(1, 2, 3, 4)
		}
		n.put(7)
		n.stop(nil)
		n.wantOut(slices.Concat(slices.Repeat([]int{101}, 5), slices.Repeat([]int{102}, 5), slices.Repeat([]int{104}, 5), []int{107})...)
		n.wantLost(ErrGoexit.Error(), 3, 3, 3, 3, 3)
	})
}

// Items that come back to a stage have room of their own there, however many new items wait at the
// entry.
func TestARetryEdgeDoesNotStarveBesideAFullEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, each = 50, 4
		try := Each(func(item int, out *Out[int]) { time.Sleep(time.Millisecond); out.Send(0, item) })
		again := Each(func(item int, out *Out[int]) {
			if item < 1000 {
				out.Send(1, item+1000) // the first time
			} else {
				out.Send(0, item)
			}
		})
		n := run(t, Network, []Stage[int]{{Name: "try", Do: try}, {Name: "again", Do: again}, {Name: "end"}},
			[]Edge{{To: "try", Cap: 2}, {From: "try", To: "again", Cap: 1}, {From: "again", Port: 1, To: "try", Cap: 4, WhenFull: Refuse}, {From: "again", To: "end"}})
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range each {
					n.put(1)
				}
			})
		}
		all.Wait()
		n.stop(nil)
		if len(n.out) != callers*each || len(n.lost) > 0 {
			t.Errorf("got %d items and %d refused, want all %d and none refused", len(n.out), len(n.lost[ErrFull.Error()]), callers*each)
		}
	})
}

// Every call of Stop returns only when the net has stopped.
func TestEveryStopReturnsWhenTheNetHasStopped(t *testing.T) {
	eachModel(t, func(t *testing.T, way Way) {
		out := 0
		slow := func([]int, *Out[int]) { time.Sleep(10 * time.Second); out++ }
		n, err := New([]Stage[int]{{Name: "slow", Do: slow}}, line("slow"), nil, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(way); err != nil {
			t.Fatal(err)
		}
		go n.Put([]int{1})
		synctest.Wait()
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := n.Stop(); !errors.Is(err, ErrDeadline) || time.Since(began) < time.Second {
					t.Errorf("Stop returned %v after %v, want ErrDeadline after the drain", err, time.Since(began))
				}
			})
		}
		all.Wait()
		synctest.Wait()
		time.Sleep(time.Minute) // for the stage
	})
}

package ring

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

func pointer(i int) *int { return &i }

// A queue behaves as a slice with a bound.
func TestAQueueIsASliceWithABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(1, 5).Draw(t, "room")
		q := New[int](room, rapid.Bool().Draw(t, "senders"), rapid.Bool().Draw(t, "receivers"))
		var model []int
		for i, offer := range rapid.SliceOf(rapid.Bool()).Draw(t, "steps") {
			if offer {
				if got := q.Offer(pointer(i)); got != (len(model) < room) {
					t.Fatalf("Offer returned %t with %d of %d slots taken, want %t", got, len(model), room, len(model) < room)
				} else if got {
					model = append(model, i)
				}
				continue
			}
			switch got := q.Poll(); {
			case got == nil && len(model) > 0, got != nil && (len(model) == 0 || *got != model[0]):
				t.Fatalf("Poll returned %v, want the first of %v", got, model)
			case got != nil:
				model = model[1:]
			}
		}
		if rest := q.Close(); len(rest) != len(model) {
			t.Fatalf("Close returned %d elements, want %d", len(rest), len(model))
		}
		if q.Offer(pointer(0)) || q.Put(pointer(0)) || q.Spill(pointer(0), 1) || q.Take() != nil {
			t.Fatal("a closed queue accepted or returned an element, want neither")
		}
	})
}

// The overflow list is a second queue with a bound of its own, and receivers alternate between
// both.
func TestReceiversAlternateBetweenSlotsAndOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const room, limit = 3, 4
		q := New[int](room, rapid.Bool().Draw(t, "senders"), rapid.Bool().Draw(t, "receivers"))
		// the elements in slots and in overflow; the source of the last element
		models, last := [2][]int{}, 0
		for i, step := range rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, "steps") {
			switch step {
			case 0, 1:
				bound, put := room, q.Offer
				if step == 1 {
					bound, put = limit, func(p *int) bool { return q.Spill(p, limit) }
				}
				if got, want := put(pointer(i)), len(models[step]) < bound; got != want {
					t.Fatalf("step %d: put said %v with %d of %d there, want %v", i, got, len(models[step]), bound, want)
				} else if got {
					models[step] = append(models[step], i)
				}
			default:
				from := 0
				if len(models[1]) > 0 {
					from = 1 - last
					if len(models[from]) == 0 {
						from = 1
					}
					last = 1 - last
				}
				switch got := q.Poll(); {
				case len(models[from]) == 0 && got != nil:
					t.Fatalf("step %d: Poll returned %d, want nil", i, *got)
				case len(models[from]) > 0 && (got == nil || *got != models[from][0]):
					t.Fatalf("step %d: Poll returned %v, want %d", i, got, models[from][0])
				case got != nil:
					models[from] = models[from][1:]
				}
			}
		}
		if got, want := len(q.Close()), len(models[0])+len(models[1]); got != want {
			t.Fatalf("Close returned %d elements, want %d", got, want)
		}
	})
}

func TestSpillWakesAWaitingReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](1, true, true)
		took := make(chan *int) // from the receiver -> below
		go func() { took <- q.Take() }()
		synctest.Wait()
		want := pointer(1)
		q.Spill(want, 1)
		synctest.Wait()
		select {
		case got := <-took:
			if got != want {
				t.Errorf("Take returned %v, want what was spilled", got)
			}
		default:
			t.Error("the receiver still waits, want it woken by Spill")
			q.Close()
			<-took
		}
	})
}

// Senders and receivers wait for each other at a small ring; one sender in three spills and does
// not wait. Each element is received once.
func TestEverythingPutIsTakenOnce(t *testing.T) {
	for _, many := range []struct{ senders, receivers int }{{1, 1}, {3, 1}, {1, 3}, {3, 3}} {
		const each = 3000
		q := New[int](2, many.senders > 1, many.receivers > 1)
		var senders, receivers sync.WaitGroup
		for s := range many.senders {
			senders.Go(func() {
				for i := range each {
					if p := pointer(s*each + i); s%3 == 2 && !q.Spill(p, each) || s%3 != 2 && !q.Put(p) {
						t.Error("an open queue refused an element, want it accepted")
					}
				}
			})
		}
		var mu sync.Mutex
		taken := map[int][]int{} // by sender
		amount := 0
		for range many.receivers {
			receivers.Go(func() {
				for p := q.Take(); p != nil; p = q.Take() {
					mu.Lock()
					taken[*p/each] = append(taken[*p/each], *p)
					if amount++; amount == many.senders*each {
						q.Close()
					}
					mu.Unlock()
				}
			})
		}
		senders.Wait()
		receivers.Wait()
		for s, got := range taken {
			if many.receivers > 1 {
				slices.Sort(got)
			}
			if !slices.IsSorted(got) || len(slices.Compact(got)) != each {
				t.Errorf("%d senders, %d receivers: of sender %d, %d elements arrived, want %d in order", many.senders, many.receivers, s, len(got), each)
			}
		}
	}
}

func TestCloseWakesEveryWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, empty := New[int](1, true, true), New[int](1, true, true)
		full.Offer(pointer(1))
		for range 5 {
			go func() {
				if full.Put(pointer(2)) {
					t.Error("Put returned true for a full queue, want it to wait until Close and return false")
				}
			}()
			go func() {
				if p := empty.Take(); p != nil {
					t.Errorf("Take returned %d from an empty queue, want nil after Close", *p)
				}
			}()
		}
		synctest.Wait()
		if rest := full.Close(); len(rest) != 1 || *rest[0] != 1 {
			t.Errorf("Close returned %v, want what was in the queue", rest)
		}
		empty.Close()
		synctest.Wait() // otherwise the bubble fails: goroutines still wait
	})
}

// Closing a queue under load loses nothing: each element that was put is received or returned by
// Close.
func TestNothingIsLostBetweenPutAndClose(t *testing.T) {
	for range 300 {
		q := New[int](4, true, true)
		var work sync.WaitGroup
		var mu sync.Mutex
		put, taken := 0, 0
		busy := make(chan struct{}) // closed by the receiver of the twentieth element
		for i := range 3 {
			work.Go(func() {
				for i < 2 && q.Put(new(int)) || i == 2 && q.Spill(new(int), 64) {
					mu.Lock()
					put++
					mu.Unlock()
				}
			})
			work.Go(func() {
				for q.Take() != nil {
					mu.Lock()
					if taken++; taken == 20 {
						close(busy)
					}
					mu.Unlock()
				}
			})
		}
		<-busy
		rest := q.Close()
		work.Wait()
		if put != taken+len(rest) {
			t.Fatalf("got %d elements taken and %d left, want the %d that were put", taken, len(rest), put)
		}
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, many := range []bool{false, true} {
		b.Run(map[bool]string{false: "single", true: "shared"}[many], func(b *testing.B) {
			q := New[int](16, many, many)
			p := new(int)
			for range b.N {
				q.Offer(p)
				q.Poll()
			}
		})
	}
}

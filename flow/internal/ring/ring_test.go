package ring

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// putAny is Put without an end.
func putAny(q *Queue[int], p *int) bool {
	done, _ := q.Put(p, nil)
	return done
}

func pointer(i int) *int { return &i }

// TestAQueueIsASliceWithABound compares a queue with a slice, step by step.
func TestAQueueIsASliceWithABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(1, 5).Draw(t, "room")
		q := New[int](room, rapid.Bool().Draw(t, "senders"), rapid.Bool().Draw(t, "receivers"))
		var model []int
		for i, offer := range rapid.SliceOf(rapid.Bool()).Draw(t, "steps") {
			if offer {
				if got := q.Offer(pointer(i)); got != (len(model) < room) {
					t.Fatalf("Offer said %v with %d of %d slots taken", got, len(model), room)
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
		if putAny(q, pointer(0)) || q.Offer(pointer(0)) || q.Take() != nil {
			t.Fatal("a closed queue took or gave something")
		}
	})
}

// TestEverythingPutIsTakenOnce has senders and receivers wait for one another at a small ring.
func TestEverythingPutIsTakenOnce(t *testing.T) {
	for _, many := range []struct{ senders, receivers int }{{1, 1}, {3, 1}, {1, 3}, {3, 3}} {
		const each = 3000
		q := New[int](2, many.senders > 1, many.receivers > 1)
		var senders, receivers sync.WaitGroup
		for s := range many.senders {
			senders.Go(func() {
				for i := range each {
					if !putAny(q, pointer(s*each+i)) {
						t.Error("an open queue refused")
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

func TestCloseSendsEverybodyHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, empty := New[int](1, true, true), New[int](1, true, true)
		full.Offer(pointer(1))
		for range 5 {
			go func() {
				if putAny(full, pointer(2)) {
					t.Error("Put got into a full queue")
				}
			}()
			go func() {
				if p := empty.Take(); p != nil {
					t.Errorf("Take returned %d from an empty queue", *p)
				}
			}()
		}
		synctest.Wait()
		if rest := full.Close(); len(rest) != 1 || *rest[0] != 1 {
			t.Errorf("Close returned %v, want what was in the queue", rest)
		}
		empty.Close()
		synctest.Wait() // all are home, or the bubble fails
	})
}

// TestAPutThatComesTooLateLeavesTheQueueAsItWas has a sender give up, and another get its room.
func TestAPutThatComesTooLateLeavesTheQueueAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](1, true, false)
		q.Offer(pointer(1))
		if done, late := q.Put(pointer(2), time.After(time.Second)); done || !late {
			t.Errorf("Put said %v, %v to a full queue, want that it was late", done, late)
		}
		patient := make(chan bool)
		go func() { patient <- putAny(q, pointer(3)) }()
		synctest.Wait()
		if p := q.Take(); *p != 1 || !<-patient {
			t.Error("the sender that went on waiting did not get the room")
		}
		if p := q.Take(); *p != 3 {
			t.Errorf("took %d, want 3", *p)
		}
	})
}

// TestNothingIsLostBetweenPutAndClose closes a queue under load: what Put took was taken or is in the rest.
func TestNothingIsLostBetweenPutAndClose(t *testing.T) {
	for range 300 {
		q := New[int](4, true, true)
		var work sync.WaitGroup
		var mu sync.Mutex
		put, taken := 0, 0
		busy := make(chan struct{}) // closed by the receiver that takes the twentieth element
		for range 2 {
			work.Go(func() {
				for putAny(q, new(int)) {
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
			t.Fatalf("%d were put, %d taken and %d left", put, taken, len(rest))
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

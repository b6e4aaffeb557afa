package memory

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// check holds what must always be true of a store.
func check(t *rapid.T, s *Store[string, int]) {
	sum, n := int64(0), 0
	for i := range s.shards {
		for key, k := range s.shards[i].m {
			sum, n = sum+k.cost, n+1
			if k.key != key || s.ring[k.index] != k {
				t.Fatalf("%q: got another key or an entry that is not at its index of the ring, want both to agree", key)
			}
		}
	}
	if sum != s.Total() || sum > s.limit || n != s.Len() {
		t.Fatalf("got cost %d in %d values, want the store's count of %d in %d, at most %d", sum, n, s.Total(), s.Len(), s.limit)
	}
}

func TestAStoreKeepsItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, model := New[string, int](1000), map[string]int{}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			key := rapid.StringMatching("[a-h]").Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if v, ok := s.Get(key); ok && v != model[key] {
					t.Fatalf("%q is %d, want %d", key, v, model[key])
				}
			case 1:
				s.Delete(key)
				if _, ok := s.Get(key); ok {
					t.Fatalf("%q after Delete: got a value, want none", key)
				}
			default:
				cost := rapid.Int64Range(1, 1200).Draw(t, "cost")
				kept := s.Put(key, i, cost)
				model[key] = i
				if v, ok := s.Get(key); kept != (cost <= 1000) || ok != kept || ok && v != i {
					t.Fatalf("Put of %q with cost %d: got kept %v, then present %v with %d, want the value exactly if the cost is at most 1000", key, cost, kept, ok, v)
				}
			}
			check(t, s)
		}
	})
}

func TestAValueInUseIsNotEvicted(t *testing.T) {
	s := New[string, int](10)
	s.Put("hot", 0, 1)
	for i := range 1000 {
		if _, ok := s.Get("hot"); !ok {
			t.Fatalf("a value in constant use: got it evicted after %d others, want it kept", i)
		}
		s.Put(fmt.Sprint(i), i, 1)
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	s := New[string, int](100)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				key := fmt.Sprint((i * (w + 1)) % 150)
				if v, ok := s.Get(key); ok && fmt.Sprint(v) != key {
					t.Errorf("%s: got %d, want the number in the key", key, v)
				}
				var v int
				fmt.Sscan(key, &v)
				s.Put(key, v, 1)
			}
		})
	}
	wg.Wait()
	if s.Total() != 100 {
		t.Errorf("got %d, want 100", s.Total())
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	s := New[string, int](100)
	key := strings.Repeat("/a", 10)
	s.Put(key, 1, 1)
	if n := testing.AllocsPerRun(100, func() { s.Get(key) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkGet(b *testing.B) {
	s := New[string, int](100)
	s.Put("/index.html", 1, 1)
	for b.Loop() {
		s.Get("/index.html")
	}
}

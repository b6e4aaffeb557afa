// Package memory keeps values in a bounded amount of memory: files, compressed bodies, responses.
//
// # Limitations
//
// What leaves first is what was not asked for since it was last considered for leaving (second
// chance): not the least recently used to the letter. Costs are what the caller says.
package memory

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Store keeps values up to a total of their costs. Its methods may be called from any goroutine.
type Store[K comparable, V any] struct {
	limit  int64
	seed   maphash.Seed
	shards [32]shard[K, V]

	mu    sync.Mutex    // held by who changes what is kept; taken before those of shards
	ring  []*kept[K, V] // all of it, in the order in which it is considered for leaving
	hand  int           // the next of ring
	total int64         // of costs
}

// shard is a part of what is kept, by the hash of its keys.
type shard[K comparable, V any] struct {
	mu sync.RWMutex
	m  map[K]*kept[K, V]
	_  [32]byte // to the next cache line
}

// kept is a value in a store.
type kept[K comparable, V any] struct {
	key   K
	value V
	cost  int64
	place int         // in ring
	used  atomic.Bool // since the hand was here
}

// New makes a store for values that cost so much together.
func New[K comparable, V any](limit int64) *Store[K, V] {
	s := &Store[K, V]{limit: limit, seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].m = map[K]*kept[K, V]{}
	}
	return s
}

func (s *Store[K, V]) shard(key K) *shard[K, V] {
	return &s.shards[maphash.Comparable(s.seed, key)%uint64(len(s.shards))]
}

// Get is the value of a key, and whether there is one.
func (s *Store[K, V]) Get(key K) (value V, ok bool) {
	h := s.shard(key)
	h.mu.RLock()
	k := h.m[key]
	h.mu.RUnlock()
	if k == nil {
		return value, false
	}
	if !k.used.Load() {
		k.used.Store(true)
	}
	return k.value, true
}

// Put keeps a value in place of what was kept under its key, and reports whether it did: what costs
// more than the whole store is not kept, and then nothing is under its key.
func (s *Store[K, V]) Put(key K, value V, cost int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key)
	if cost > s.limit {
		return false
	}
	for s.total+cost > s.limit {
		s.evict()
	}
	k := &kept[K, V]{key: key, value: value, cost: cost, place: len(s.ring)}
	s.ring = append(s.ring, k)
	s.total += cost
	h := s.shard(key)
	h.mu.Lock()
	h.m[key] = k
	h.mu.Unlock()
	return true
}

// Delete lets go of the value of a key.
func (s *Store[K, V]) Delete(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key)
}

// Total is the cost of all that is kept, and Len how many values that are.
func (s *Store[K, V]) Total() int64 { s.mu.Lock(); defer s.mu.Unlock(); return s.total }

// Len is how many values are kept.
func (s *Store[K, V]) Len() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.ring) }

// evict lets go of one value. The caller holds mu, and something is kept.
func (s *Store[K, V]) evict() {
	for {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		if k := s.ring[s.hand]; !k.used.Swap(false) {
			s.remove(k.key)
			return
		}
		s.hand++
	}
}

// remove takes a key out. The caller holds mu.
func (s *Store[K, V]) remove(key K) {
	h := s.shard(key)
	h.mu.Lock()
	k := h.m[key]
	delete(h.m, key)
	h.mu.Unlock()
	if k == nil {
		return
	}
	last := len(s.ring) - 1
	s.ring[k.place] = s.ring[last]
	s.ring[k.place].place = k.place
	s.ring[last] = nil
	s.ring = s.ring[:last]
	s.total -= k.cost
}

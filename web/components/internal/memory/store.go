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

// Store keeps values up to a limit of their total cost. Its methods are safe for concurrent use.
type Store[K comparable, V any] struct {
	limit  int64
	seed   maphash.Seed
	shards [32]shard[K, V]

	mu    sync.Mutex     // Held to change the content. Locked before the mu of a shard.
	ring  []*entry[K, V] // all entries, in the order in which the clock hand visits them
	hand  int            // index of the entry that is considered next for eviction
	total int64          // sum of costs
}

// shard is the part of the entries whose keys have one hash.
type shard[K comparable, V any] struct {
	mu sync.RWMutex
	m  map[K]*entry[K, V]
	_  [32]byte // padding to the next cache line
}

// entry is a value in a store.
type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
	index int         // in ring
	used  atomic.Bool // since the hand visited it
}

// New returns a store with a limit on the total cost.
func New[K comparable, V any](limit int64) *Store[K, V] {
	s := &Store[K, V]{limit: limit, seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].m = map[K]*entry[K, V]{}
	}
	return s
}

func (s *Store[K, V]) shard(key K) *shard[K, V] {
	return &s.shards[maphash.Comparable(s.seed, key)%uint64(len(s.shards))]
}

// Get returns the value of a key, and whether there is one.
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

// Put stores a value in place of an earlier one of the key. It reports whether it did: a value that
// costs more than the limit is not stored, and the earlier one is removed.
func (s *Store[K, V]) Put(key K, value V, cost int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(key)
	if cost > s.limit {
		return false
	}
	for s.total+cost > s.limit {
		s.evictLocked()
	}
	k := &entry[K, V]{key: key, value: value, cost: cost, index: len(s.ring)}
	s.ring = append(s.ring, k)
	s.total += cost
	h := s.shard(key)
	h.mu.Lock()
	h.m[key] = k
	h.mu.Unlock()
	return true
}

// Delete removes the value of a key.
func (s *Store[K, V]) Delete(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(key)
}

// Total returns the total cost of all values.
func (s *Store[K, V]) Total() int64 { s.mu.Lock(); defer s.mu.Unlock(); return s.total }

// Len returns the number of values.
func (s *Store[K, V]) Len() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.ring) }

// evictLocked removes one value. The store must not be empty. The caller holds mu.
func (s *Store[K, V]) evictLocked() {
	for {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		if k := s.ring[s.hand]; !k.used.Swap(false) {
			s.removeLocked(k.key)
			return
		}
		s.hand++
	}
}

// removeLocked removes a key. The caller holds mu.
func (s *Store[K, V]) removeLocked(key K) {
	h := s.shard(key)
	h.mu.Lock()
	k := h.m[key]
	delete(h.m, key)
	h.mu.Unlock()
	if k == nil {
		return
	}
	last := len(s.ring) - 1
	s.ring[k.index] = s.ring[last]
	s.ring[k.index].index = k.index
	s.ring[last] = nil
	s.ring = s.ring[:last]
	s.total -= k.cost
}

package files

import (
	"hash/maphash"
	"sync"
)

// store keeps entries up to a total of their costs. What was not used since it was last considered goes first.
type store struct {
	limit  int64
	seed   maphash.Seed
	shards [32]shard

	mu    sync.Mutex // held by who puts; before those of shards
	ring  []*entry   // all entries, in the order in which they are considered for leaving
	hand  int        // the next of ring
	total int64      // of their costs
}

// shard is a part of the entries, by the hash of their keys.
type shard struct {
	mu sync.RWMutex
	m  map[string]*entry
	_  [32]byte // to the next cache line
}

func newStore(limit int64) *store {
	s := &store{limit: limit, seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].m = map[string]*entry{}
	}
	return s
}

func (s *store) shard(key string) *shard {
	return &s.shards[maphash.String(s.seed, key)%uint64(len(s.shards))]
}

// get is the entry of a key, nil when there is none.
func (s *store) get(key string) *entry {
	h := s.shard(key)
	h.mu.RLock()
	e := h.m[key]
	h.mu.RUnlock()
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// put keeps an entry in place of what was there under its key, unless it takes more than the whole store.
func (s *store) put(e *entry) {
	if e.cost > s.limit {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.shard(e.key)
	h.mu.Lock()
	old := h.m[e.key]
	h.m[e.key] = e
	h.mu.Unlock()
	s.total += e.cost
	if old != nil {
		s.total -= old.cost
		e.place = old.place
		s.ring[e.place] = e
	} else {
		e.place = len(s.ring)
		s.ring = append(s.ring, e)
	}
	for s.total > s.limit {
		s.evict(e)
	}
}

// evict takes one entry out, but not the one that comes.
func (s *store) evict(but *entry) {
	for {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		e := s.ring[s.hand]
		if e == but || e.used.Swap(false) {
			s.hand++
			continue
		}
		h := s.shard(e.key)
		h.mu.Lock()
		delete(h.m, e.key)
		h.mu.Unlock()
		last := len(s.ring) - 1
		s.ring[s.hand] = s.ring[last]
		s.ring[s.hand].place = s.hand
		s.ring[last] = nil
		s.ring = s.ring[:last]
		s.total -= e.cost
		return
	}
}

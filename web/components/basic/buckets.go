package basic

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

// client is who a bucket is for: an address, or a value of a field.
type client struct {
	addr netip.Prefix
	key  string
}

// buckets are token buckets by client, at most so many. Each is one number, as in the generic cell rate algorithm: the time at which
// the bucket would be full again. When there is no room for another, the one not used for longest is forgotten, as if it were full.
type buckets struct {
	interval time.Duration // between two tokens
	burst    int           // tokens in a full bucket
	most     int

	mu   sync.Mutex
	of   map[client]*list.Element // of *bucket
	used list.List                // the last used first
}

type bucket struct {
	client client
	full   time.Duration // when it is, on the caller's clock
}

// standing is what a client has.
type standing struct {
	ok   bool          // it got a token
	left int           // tokens it could take at once
	full time.Duration // from now until the bucket is full
	wait time.Duration // from now until there is a token; 0 when there is one
}

func newBuckets(interval time.Duration, burst, most int) *buckets {
	return &buckets{interval: interval, burst: burst, most: most, of: map[client]*list.Element{}}
}

// take takes a token for a client, at a time that does not go back.
func (b *buckets) take(who client, now time.Duration) standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	mine := b.find(who)
	size := time.Duration(b.burst) * b.interval
	full := max(mine.full, now) + b.interval
	s := standing{ok: full-now <= size}
	if s.ok {
		mine.full = full
	}
	s.full = mine.full - now
	s.left = int((size - s.full) / b.interval)
	s.wait = max(0, s.full+b.interval-size)
	return s
}

// find gives the client's bucket, made full if it is not there.
func (b *buckets) find(who client) *bucket {
	if e, ok := b.of[who]; ok {
		b.used.MoveToFront(e)
		return e.Value.(*bucket)
	}
	if len(b.of) < b.most {
		mine := &bucket{client: who}
		b.of[who] = b.used.PushFront(mine)
		return mine
	}
	e := b.used.Back()
	mine := e.Value.(*bucket)
	delete(b.of, mine.client)
	*mine = bucket{client: who}
	b.of[who] = e
	b.used.MoveToFront(e)
	return mine
}

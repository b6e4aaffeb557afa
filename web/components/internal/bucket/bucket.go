// Package bucket limits how often clients do something, by a token bucket for each.
//
// # Limitations
//
// When there are too many clients, the one that has not come for longest is forgotten, as if its
// bucket were full.
package bucket

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

// Client is the owner of a bucket: an address, or the value of a field.
type Client struct {
	Addr netip.Prefix
	Key  string
}

// Buckets are token buckets by client, for a limited number of clients. Each bucket is one number,
// as in the generic cell rate algorithm: the time at which it will be full. Methods are safe for
// concurrent use.
type Buckets struct {
	interval   time.Duration // between two tokens
	burst      int           // tokens in a full bucket
	maxClients int

	mu           sync.Mutex
	byClient     map[Client]*list.Element // of *bucket
	recentlyUsed list.List                // most recently used first
}

type bucket struct {
	client Client
	fullAt time.Duration // on the caller's clock
}

// Standing is the state of a client's bucket.
type Standing struct {
	OK         bool          // the client got a token
	Remaining  int           // tokens that it could take at once
	UntilFull  time.Duration // from now until the bucket is full
	UntilToken time.Duration // from now until there is a token; 0 if there is one
}

// New returns buckets of burst tokens for at most so many clients. Each bucket gains a token per
// interval.
func New(interval time.Duration, burst, most int) *Buckets {
	return &Buckets{interval: interval, burst: burst, maxClients: most, byClient: map[Client]*list.Element{}}
}

// Take takes a token for a client. now must not decrease between calls.
func (b *Buckets) Take(who Client, now time.Duration) Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	mine := b.find(who)
	size := time.Duration(b.burst) * b.interval
	full := max(mine.fullAt, now) + b.interval
	s := Standing{OK: full-now <= size}
	if s.OK {
		mine.fullAt = full
	}
	s.UntilFull = mine.fullAt - now
	s.Remaining = int((size - s.UntilFull) / b.interval)
	s.UntilToken = max(0, s.UntilFull+b.interval-size)
	return s
}

// Return gives a taken token back.
func (b *Buckets) Return(who Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.byClient[who]; ok {
		e.Value.(*bucket).fullAt -= b.interval
	}
}

// find returns the client's bucket, and creates a full one if there is none.
func (b *Buckets) find(who Client) *bucket {
	if e, ok := b.byClient[who]; ok {
		b.recentlyUsed.MoveToFront(e)
		return e.Value.(*bucket)
	}
	if len(b.byClient) < b.maxClients {
		mine := &bucket{client: who}
		b.byClient[who] = b.recentlyUsed.PushFront(mine)
		return mine
	}
	e := b.recentlyUsed.Back()
	mine := e.Value.(*bucket)
	delete(b.byClient, mine.client)
	*mine = bucket{client: who}
	b.byClient[who] = e
	b.recentlyUsed.MoveToFront(e)
	return mine
}

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

// Client is who a bucket is for: an address, or a value of a field.
type Client struct {
	Addr netip.Prefix
	Key  string
}

// Buckets are token buckets by client, at most so many. Each is one number, as in the generic cell
// rate algorithm: the time at which the bucket would be full again. Methods may be called from any
// goroutine.
type Buckets struct {
	interval time.Duration // between two tokens
	burst    int           // tokens in a full bucket
	most     int

	mu   sync.Mutex
	of   map[Client]*list.Element // of *bucket
	used list.List                // the last used first
}

type bucket struct {
	client Client
	full   time.Duration // when it is, on the caller's clock
}

// Standing is what a client has.
type Standing struct {
	OK   bool          // it got a token
	Left int           // tokens it could take at once
	Full time.Duration // from now until the bucket is full
	Wait time.Duration // from now until there is a token; 0 when there is one
}

// New makes buckets of burst tokens for at most so many clients, each of which gets a token back in
// each interval.
func New(interval time.Duration, burst, most int) *Buckets {
	return &Buckets{interval: interval, burst: burst, most: most, of: map[Client]*list.Element{}}
}

// Take takes a token for a client, at a time that does not go back.
func (b *Buckets) Take(who Client, now time.Duration) Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	mine := b.find(who)
	size := time.Duration(b.burst) * b.interval
	full := max(mine.full, now) + b.interval
	s := Standing{OK: full-now <= size}
	if s.OK {
		mine.full = full
	}
	s.Full = mine.full - now
	s.Left = int((size - s.Full) / b.interval)
	s.Wait = max(0, s.Full+b.interval-size)
	return s
}

// Return gives a token that was taken back.
func (b *Buckets) Return(who Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.of[who]; ok {
		e.Value.(*bucket).full -= b.interval
	}
}

// find gives the client's bucket, made full if it is not there.
func (b *Buckets) find(who Client) *bucket {
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

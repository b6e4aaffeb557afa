package tcpip

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// badPath describes a path, the same in both directions.
type badPath struct {
	rate  int64         // bits a second
	trip  time.Duration // round trip, without queueing
	loss  float64       // share of frames that is lost in each direction
	queue int           // bytes that may wait for the rate
}

// emulator is a path between one link at its left and one or more at its right, which share the
// path's queues. It delivers a frame to the link where its destination address was seen.
type emulator struct {
	path badPath
	done sync.WaitGroup
	seen [2]*direction // to the left, and to the right
}

// direction is one direction of the path.
type direction struct {
	to     []link.Link
	path   badPath
	random *rand.Rand

	mu      sync.Mutex
	longest int       // longest frame that passes, in bytes; 0: no limit
	free    time.Time // when the rate has transmitted everything
	waiting []underWayFrame
	stats   pathStats
}

type underWayFrame struct {
	at    time.Time
	bytes []byte
}

// pathStats counts the segments with payload of a direction.
type pathStats struct {
	sent    int           // segments, and those of them that were lost
	bytes   int           // of their payload
	dropped int           // for lack of room
	waited  time.Duration // all together, for the rate
	longest time.Duration
}

// meanWait returns the mean queueing delay of a segment.
func (s pathStats) meanWait() time.Duration { return s.waited / time.Duration(max(1, s.sent)) }

// emulate connects links by a path until the test ends and the links are closed. The same seed
// loses the same frames, by number.
func emulate(t testing.TB, path badPath, seed uint64, left link.Link, right ...link.Link) *emulator {
	e := &emulator{path: path}
	places := make(map[wire.MAC]link.Queue)
	var mu sync.Mutex
	for i := range e.seen {
		e.seen[i] = &direction{path: path, random: rand.New(rand.NewPCG(seed, uint64(i)))}
	}
	e.seen[0].to, e.seen[1].to = []link.Link{left}, right
	learn := func(from link.Queue, source wire.MAC) {
		mu.Lock()
		places[source] = from
		mu.Unlock()
	}
	find := func(to wire.MAC) link.Queue {
		mu.Lock()
		defer mu.Unlock()
		return places[to]
	}
	for _, r := range right {
		e.done.Go(func() { e.seen[0].carry(r.Queue(0), learn, find) })
	}
	e.done.Go(func() { e.seen[1].carry(left.Queue(0), learn, find) })
	t.Cleanup(func() {
		left.Close()
		for _, r := range right {
			r.Close()
		}
		e.done.Wait()
	})
	return e
}

// makeBlackHole drops frames of more than longest bytes from now on, in both directions.
func (e *emulator) makeBlackHole(longest int) {
	for _, d := range e.seen {
		d.mu.Lock()
		d.longest = longest
		d.mu.Unlock()
	}
}

// carry moves the frames of one link along the path until the link is closed.
func (d *direction) carry(from link.Queue, learn func(link.Queue, wire.MAC), find func(wire.MAC) link.Queue) {
	for batch := make([]link.Frame, 32); ; {
		n, err := from.Read(batch, d.deliver(time.Now(), find))
		if err != nil {
			return
		}
		now := time.Now()
		for _, f := range batch[:n] {
			if eth, fault := wire.ParseEthernet(f.Bytes); fault == wire.OK {
				learn(from, eth.Src())
				d.admit(now, f.Bytes)
			}
		}
	}
}

// admit schedules the delivery of a frame, or drops it.
func (d *direction) admit(now time.Time, frame []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lost, payload := d.random.Float64() < d.path.loss, payloadOf(frame)
	begun := now
	if d.free.After(now) {
		begun = d.free
	}
	wait := begun.Sub(now)
	full := float64(wait.Seconds())*float64(d.path.rate)/8 > float64(d.path.queue)
	if payload > 0 {
		d.stats.sent++
		d.stats.bytes += payload
		if full {
			d.stats.dropped++
		} else {
			d.stats.waited += wait
			d.stats.longest = max(d.stats.longest, wait)
		}
	}
	if full || lost || d.longest > 0 && len(frame) > d.longest {
		return
	}
	d.free = begun.Add(time.Duration(float64(len(frame)*8) / float64(d.path.rate) * 1e9))
	d.waiting = append(d.waiting, underWayFrame{d.free.Add(d.path.trip / 2), bytes.Clone(frame)})
}

// deliver delivers the frames that are due, and returns the time until the next; negative: none.
func (d *direction) deliver(now time.Time, find func(wire.MAC) link.Queue) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.waiting) > 0 {
		next := d.waiting[0]
		if wait := next.at.Sub(now); wait > 0 {
			return wait
		}
		d.waiting = d.waiting[1:]
		eth, _ := wire.ParseEthernet(next.bytes)
		if q := find(eth.Dst()); q != nil {
			q.Write(&link.Parts{Head: next.bytes})
			continue
		}
		for _, l := range d.to {
			l.Queue(0).Write(&link.Parts{Head: next.bytes})
		}
	}
	return -1
}

// since returns the statistics since the last call.
func (d *direction) since() pathStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	d.stats = pathStats{}
	return s
}

// payloadOf returns the length of a segment's payload.
func payloadOf(frame []byte) int {
	eth, fault := wire.ParseEthernet(frame)
	if fault != wire.OK {
		return 0
	}
	var segment []byte
	if v, fault := wire.ParseIPv4(eth.Payload()); fault == wire.OK && v.Protocol() == wire.TCPProtocol {
		segment = v.Payload()
	} else if v, fault := wire.ParseIPv6(eth.Payload()); fault == wire.OK && v.NextHeader() == wire.TCPProtocol {
		segment = v.Payload()
	}
	s, fault := wire.ParseTCP(segment)
	if fault != wire.OK {
		return 0
	}
	return len(s.Payload())
}

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

// badPath is what a path does to frames, in both directions alike.
type badPath struct {
	rate  int64         // bits a second
	trip  time.Duration // round trip, without queueing
	loss  float64       // share of frames that is lost in each direction
	queue int           // bytes that may wait for the rate
}

// emulator is a path between one link at its left and one or more at its right, which share the
// path's queues. Frames go to the links that their destination address was seen at.
type emulator struct {
	path badPath
	done sync.WaitGroup
	seen [2]*direction // what goes to the left, and what goes to the right
}

// direction is one direction of the path.
type direction struct {
	to     []link.Link
	path   badPath
	random *rand.Rand

	mu      sync.Mutex
	free    time.Time // when the rate has let all through
	waiting []underWayFrame
	stats   pathStats
}

type underWayFrame struct {
	at    time.Time
	bytes []byte
}

// pathStats are what a direction has seen of segments with payload.
type pathStats struct {
	sent    int           // segments, of which some were lost
	bytes   int           // of their payload
	dropped int           // for lack of room
	waited  time.Duration // all together, for the rate
	longest time.Duration
}

// meanWait is how long a segment waited for the rate.
func (s pathStats) meanWait() time.Duration { return s.waited / time.Duration(max(1, s.sent)) }

// emulate joins links by a path, until the test ends and the links are closed. The same seed loses
// the same frames, by their number.
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

// carry takes frames of one link along the path, until the link is closed.
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

// admit has a frame be on its way, or drops it.
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
	if full || lost {
		return
	}
	d.free = begun.Add(time.Duration(float64(len(frame)*8) / float64(d.path.rate) * 1e9))
	d.waiting = append(d.waiting, underWayFrame{d.free.Add(d.path.trip / 2), bytes.Clone(frame)})
}

// deliver gives on what is due, and says how long it is until the next; below zero: nothing is
// under way.
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

// since takes the statistics of what has passed, and begins anew.
func (d *direction) since() pathStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	d.stats = pathStats{}
	return s
}

// payloadOf is how many bytes of payload a frame has, if it is a segment.
func payloadOf(frame []byte) int {
	eth, fault := wire.ParseEthernet(frame)
	if fault != wire.OK || eth.Type() != wire.TypeIPv4 {
		return 0
	}
	v, fault := wire.ParseIPv4(eth.Payload())
	if fault != wire.OK || v.Protocol() != wire.TCPProtocol {
		return 0
	}
	s, fault := wire.ParseTCP(v.Payload())
	if fault != wire.OK {
		return 0
	}
	return len(s.Payload())
}

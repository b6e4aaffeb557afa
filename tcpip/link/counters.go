package link

import "sync/atomic"

// Drop is why a frame was dropped.
type Drop uint8

// The reasons.
const (
	DropFull Drop = iota // written, while the device or the peer's queue had no room
	// written, though the link takes no such frame: too long, too short, an Offload that it does
	// not do or that cannot be
	DropRefused
	DropDown      // written, while the device was down
	DropClosed    // written, when the link or its peer was closed, or the device gone
	DropMalformed // come from the device with a header that cannot be
	DropLost      // lost on the way, as [Impair] was asked for
	drops
)

// Drops is how many reasons there are: for arrays that are indexed by a Drop.
const Drops = int(drops)

var dropNames = [Drops]string{"full", "refused", "down", "closed", "malformed", "lost"}

// String is the reason's name, as metrics have it.
func (d Drop) String() string { return dropNames[d] }

// Counters is what a queue has counted since it was opened. A superframe is one frame. Bytes are
// those of frames, Ethernet headers included.
type Counters struct {
	Received, ReceivedBytes uint64
	Sent, SentBytes         uint64
	Dropped                 [Drops]uint64 // frames, by a Drop
}

// counts are a queue's counters. Readers and writers each have a line of the cache of their own.
type counts struct {
	received, receivedBytes atomic.Uint64
	_                       [48]byte
	sent, sentBytes         atomic.Uint64
	dropped                 [Drops]atomic.Uint64
}

func (c *counts) drop(why Drop) { c.dropped[why].Add(1) }

func (c *counts) send(bytes int) {
	c.sent.Add(1)
	c.sentBytes.Add(uint64(bytes))
}

// receive counts what a Read gives.
func (c *counts) receive(frames []Frame) {
	if len(frames) == 0 {
		return
	}
	bytes := 0
	for i := range frames {
		bytes += len(frames[i].Bytes)
	}
	c.received.Add(uint64(len(frames)))
	c.receivedBytes.Add(uint64(bytes))
}

// Counters implements Queue for what has counts.
func (c *counts) Counters() Counters {
	now := Counters{Received: c.received.Load(), ReceivedBytes: c.receivedBytes.Load(), Sent: c.sent.Load(), SentBytes: c.sentBytes.Load()}
	for i := range c.dropped {
		now.Dropped[i] = c.dropped[i].Load()
	}
	return now
}

// Add adds what another queue has counted.
func (c *Counters) Add(d Counters) {
	c.Received += d.Received
	c.ReceivedBytes += d.ReceivedBytes
	c.Sent += d.Sent
	c.SentBytes += d.SentBytes
	for i, n := range d.Dropped {
		c.Dropped[i] += n
	}
}

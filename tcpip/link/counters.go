package link

import "sync/atomic"

// Drop is the reason why a frame was dropped.
type Drop uint8

// The reasons.
const (
	DropFull Drop = iota // written while the device or the peer's queue was full
	// written although the link does not carry such frames: too long, too short, or an invalid or
	// unsupported Offload
	DropRefused
	DropDown      // written while the device was down
	DropClosed    // written after the link or its peer was closed, or the device removed
	DropMalformed // received from the device with an invalid header
	DropLost      // lost on purpose by [Impair]
	DropCoDel     // dropped by controlled delay ([Impairment])
	dropReasons
)

// Drops is the number of reasons, for arrays indexed by a Drop.
const Drops = int(dropReasons)

var dropNames = [Drops]string{"full", "refused", "down", "closed", "malformed", "lost", "codel"}

// String returns the reason's name, the label of its metric.
func (d Drop) String() string { return dropNames[d] }

// Counters has the counters of a queue since it was opened. A superframe is one frame. Bytes
// include Ethernet headers.
type Counters struct {
	Received, ReceivedBytes uint64
	Sent, SentBytes         uint64
	Dropped                 [Drops]uint64 // frames, indexed by Drop
}

// queueCounters has the counters of a queue. Those of readers and of writers are on different cache
// lines.
type queueCounters struct {
	received, receivedBytes atomic.Uint64
	_                       [48]byte
	sent, sentBytes         atomic.Uint64
	dropped                 [Drops]atomic.Uint64
}

func (c *queueCounters) drop(why Drop) { c.dropped[why].Add(1) }

func (c *queueCounters) send(bytes int) {
	c.sent.Add(1)
	c.sentBytes.Add(uint64(bytes))
}

// receive counts the frames of a Read.
func (c *queueCounters) receive(frames []Frame) {
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

// Counters implements Queue for types that embed queueCounters.
func (c *queueCounters) Counters() Counters {
	now := Counters{Received: c.received.Load(), ReceivedBytes: c.receivedBytes.Load(), Sent: c.sent.Load(), SentBytes: c.sentBytes.Load()}
	for i := range c.dropped {
		now.Dropped[i] = c.dropped[i].Load()
	}
	return now
}

// Add adds the counters of another queue.
func (c *Counters) Add(d Counters) {
	c.Received += d.Received
	c.ReceivedBytes += d.ReceivedBytes
	c.Sent += d.Sent
	c.SentBytes += d.SentBytes
	for i, n := range d.Dropped {
		c.Dropped[i] += n
	}
}

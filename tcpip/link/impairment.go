package link

import (
	"fmt"
	"time"
)

// Impairment describes what happens to frames on a path. The zero value does nothing. Shares are
// from 0 to 1.
type Impairment struct {
	Delay time.Duration // delay of every frame
	// maximum of an additional random delay, uniformly distributed. It does not reorder frames
	Jitter    time.Duration
	Loss      float64 // share of frames lost, independently of each other
	Burst     Burst   // losses in bursts
	Duplicate float64 // share of frames delivered twice, one directly after the other
	// share of frames delayed by ReorderDelay, so that later frames overtake them
	Reorder      float64
	ReorderDelay time.Duration // default 1 ms
	// bits a second, Ethernet headers included; 0: unlimited
	Rate int64
	// bytes that may wait because of Rate; frames beyond that are dropped. Default 262,144
	QueueBytes int
	// the queue drops frames by controlled delay too (RFC 8289), with a target of 5 ms and an
	// interval of 100 ms
	CoDel bool
	// longest frame that passes, in bytes with its Ethernet header; longer ones are lost, as on a
	// path whose MTU no ICMP message reports. 0: unlimited
	MaxFrame int
}

// Burst is the Gilbert-Elliott loss model (Gilbert, 1960; Elliott, 1963), a path with a good and a
// bad state. The zero value stays in the good state.
type Burst struct {
	Start float64 // probability of a change to the bad state before a frame
	// probability of a change back before a frame: a bad period is 1/End frames long on average
	End  float64
	Loss float64 // share of frames lost in the bad state; default 1
}

// withDefaults fills in defaults, and returns an error for an invalid value.
func (c Impairment) withDefaults() (Impairment, error) {
	for _, s := range []struct {
		name  string
		value float64
	}{{"Loss", c.Loss}, {"Burst.Start", c.Burst.Start}, {"Burst.End", c.Burst.End}, {"Burst.Loss", c.Burst.Loss}, {"Duplicate", c.Duplicate}, {"Reorder", c.Reorder}} {
		if !(s.value >= 0 && s.value <= 1) {
			return c, fmt.Errorf("link: an impairment's %s is %v: make it a share from 0 to 1", s.name, s.value)
		}
	}
	if c.Delay < 0 || c.Jitter < 0 || c.ReorderDelay < 0 || c.Rate < 0 || c.QueueBytes < 0 || c.MaxFrame < 0 {
		return c, fmt.Errorf("link: an impairment with a negative Delay, Jitter, ReorderDelay, Rate, QueueBytes or MaxFrame (%v, %v, %v, %d, %d, %d): make it 0 or more", c.Delay, c.Jitter, c.ReorderDelay, c.Rate, c.QueueBytes, c.MaxFrame)
	}
	if c.Burst.Start > 0 && c.Burst.End == 0 {
		return c, fmt.Errorf("link: an impairment with a Burst.Start of %v and a Burst.End of 0: a burst would never end: make End more than 0", c.Burst.Start)
	}
	if c.Burst.Loss == 0 {
		c.Burst.Loss = 1
	}
	if c.ReorderDelay == 0 {
		c.ReorderDelay = time.Millisecond
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = 1 << 18
	}
	return c, nil
}

// delayedFrame is a frame in flight.
type delayedFrame struct {
	deliverAt time.Time // delivery time
	order     uint64    // order of frames with the same delivery time
	queue     *impairQueue
	frame     Frame
}

// delayHeap is a heap (container/heap) of frames by delivery time.
type delayHeap []delayedFrame

func (p delayHeap) Len() int { return len(p) }

func (p delayHeap) Less(i, j int) bool {
	if p[i].deliverAt.Equal(p[j].deliverAt) {
		return p[i].order < p[j].order
	}
	return p[i].deliverAt.Before(p[j].deliverAt)
}

func (p delayHeap) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push implements heap.Interface.
func (p *delayHeap) Push(x any) { *p = append(*p, x.(delayedFrame)) }

// Pop implements heap.Interface.
func (p *delayHeap) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	(*p)[last] = delayedFrame{}
	*p = (*p)[:last]
	return x
}

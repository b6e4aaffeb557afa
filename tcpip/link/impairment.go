package link

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Impairment is what a way does to the frames that go along it. The zero value does nothing. Shares
// are from 0 to 1.
type Impairment struct {
	Delay time.Duration // of every frame
	// at most so much more, evenly spread. It puts no frame before another one
	Jitter    time.Duration
	Loss      float64       // share of frames that is lost, each for itself
	Burst     Burst         // frames that are lost together
	Duplicate float64       // share that comes twice, one behind the other
	Reorder   float64       // share that is held back, so that later ones come first
	Late      time.Duration // for how long; default 1 ms
	// bits a second, of frames with their Ethernet headers; 0: as fast as can be
	Rate int64
	// bytes that may wait because of the Rate; what finds no room is lost. Default 262,144
	Queue int
}

// Burst is a way that is good at times and bad at others (Gilbert, 1960; Elliott, 1963). The zero
// value is always good.
type Burst struct {
	Begin float64 // share of frames in good times before which a bad one begins
	// share of frames in bad times before which it ends: bad times are 1/End frames long on average
	End  float64
	Loss float64 // share of frames that is lost in bad times; default 1
}

// withDefaults fills in what is not said, and says what cannot be.
func (c Impairment) withDefaults() (Impairment, error) {
	for _, s := range []struct {
		name  string
		value float64
	}{{"Loss", c.Loss}, {"Burst.Begin", c.Burst.Begin}, {"Burst.End", c.Burst.End}, {"Burst.Loss", c.Burst.Loss}, {"Duplicate", c.Duplicate}, {"Reorder", c.Reorder}} {
		if !(s.value >= 0 && s.value <= 1) {
			return c, fmt.Errorf("link: an impairment's %s is %v: make it a share from 0 to 1", s.name, s.value)
		}
	}
	if c.Delay < 0 || c.Jitter < 0 || c.Late < 0 || c.Rate < 0 || c.Queue < 0 {
		return c, fmt.Errorf("link: an impairment with a negative Delay, Jitter, Late, Rate or Queue (%v, %v, %v, %d, %d): make it 0 or more", c.Delay, c.Jitter, c.Late, c.Rate, c.Queue)
	}
	if c.Burst.Begin > 0 && c.Burst.End == 0 {
		return c, fmt.Errorf("link: an impairment whose Burst begins (%v) and never ends: make its End more than 0", c.Burst.Begin)
	}
	if c.Burst.Loss == 0 {
		c.Burst.Loss = 1
	}
	if c.Late == 0 {
		c.Late = time.Millisecond
	}
	if c.Queue == 0 {
		c.Queue = 1 << 18
	}
	return c, nil
}

// way is what an impairment does to one direction of a link, all its queues together. It draws the
// same number of random numbers for every frame, whatever is asked for: a seed loses the same
// frames with a delay and without.
type way struct {
	c Impairment

	mu     sync.Mutex
	random *rand.Rand
	bad    bool
	free   time.Time // when the rate has let through all that was admitted
	last   time.Time // when the last frame comes of those that keep their order
}

func newWay(c Impairment, seed, stream uint64) *way {
	return &way{c: c, random: rand.New(rand.NewPCG(seed, stream))}
}

// fate is what becomes of a frame of n bytes: it comes at a time, so many times; or no time, and
// why.
func (w *way) fate(now time.Time, n int) (at time.Time, times int, why Drop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := w.lost(w.random.Float64(), w.random.Float64(), w.random.Float64())
	twice, late := w.random.Float64() < w.c.Duplicate, w.random.Float64() < w.c.Reorder
	jitter := time.Duration(w.random.Float64() * float64(w.c.Jitter))
	at, ok := w.depart(now, n)
	switch {
	case !ok:
		return at, 0, DropFull
	case lost:
		return at, 0, DropLost
	}
	at = at.Add(w.c.Delay + jitter)
	if late {
		at = at.Add(w.c.Late)
	} else {
		if at.Before(w.last) {
			at = w.last
		}
		w.last = at
	}
	if twice {
		return at, 2, 0
	}
	return at, 1, 0
}

// lost says whether chance takes a frame: by itself, or because it comes in bad times.
func (w *way) lost(alone, change, burst float64) bool {
	if w.bad {
		w.bad = change >= w.c.Burst.End
	} else {
		w.bad = change < w.c.Burst.Begin
	}
	return alone < w.c.Loss || w.bad && burst < w.c.Burst.Loss
}

// depart is when the rate has let a frame of n bytes through; not ok means that there is no room
// for it to wait. One that is let through at once needs none.
func (w *way) depart(now time.Time, n int) (at time.Time, ok bool) {
	if w.c.Rate == 0 {
		return now, true
	}
	if w.free.Before(now) {
		w.free = now
	}
	waiting := int64(w.free.Sub(now).Seconds() * float64(w.c.Rate) / 8)
	if waiting > 0 && waiting+int64(n) > int64(w.c.Queue) {
		return now, false
	}
	w.free = w.free.Add(time.Duration(float64(n) * 8 / float64(w.c.Rate) * float64(time.Second)))
	return w.free, true
}

// parcel is a frame on its way.
type parcel struct {
	at    time.Time // when it comes
	nth   uint64    // of those that come at the same time, which was there first
	queue *impairQueue
	frame Frame
}

// parcels is a heap (container/heap) of frames by when they come.
type parcels []parcel

func (p parcels) Len() int { return len(p) }

func (p parcels) Less(i, j int) bool {
	if p[i].at.Equal(p[j].at) {
		return p[i].nth < p[j].nth
	}
	return p[i].at.Before(p[j].at)
}

func (p parcels) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push implements heap.Interface.
func (p *parcels) Push(x any) { *p = append(*p, x.(parcel)) }

// Pop implements heap.Interface.
func (p *parcels) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	(*p)[last] = parcel{}
	*p = (*p)[:last]
	return x
}

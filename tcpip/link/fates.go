package link

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Fates applies an impairment to one direction of a link, all its queues together. Every frame
// consumes the same number of random numbers, whatever the impairment. So a seed loses the same
// frames with and without a delay. Any goroutine may call its methods.
type Fates struct {
	mu           sync.Mutex
	config       Impairment
	random       *rand.Rand
	inBurst      bool
	rateFreeAt   time.Time // when Rate has transmitted all frames accepted so far
	lastDelivery time.Time // delivery time of the last frame that keeps its order
	codel        codel
}

// NewFates returns the fates of frames by a seed; each stream has random numbers of its own. The
// error is an invalid impairment.
func NewFates(c Impairment, seed, stream uint64) (*Fates, error) {
	w := &Fates{random: rand.New(rand.NewPCG(seed, stream))}
	return w, w.Set(c)
}

// Set changes the impairment; the random numbers go on. With another Rate, frames that are sent
// from now on do not wait for those before, and may overtake them. After an error nothing has
// changed.
func (w *Fates) Set(c Impairment) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Rate != w.config.Rate {
		w.rateFreeAt, w.lastDelivery, w.codel = time.Time{}, time.Time{}, codel{}
	}
	w.config = c
	return nil
}

// Decide decides about a frame of n bytes that is sent now: it is delivered at a time, copies
// times. If copies is 0, why is the reason of the drop: DropFull, DropCoDel or DropLost.
func (w *Fates) Decide(now time.Time, n int) (at time.Time, copies int, why Drop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := w.isLost(w.random.Float64(), w.random.Float64(), w.random.Float64())
	twice, late := w.random.Float64() < w.config.Duplicate, w.random.Float64() < w.config.Reorder
	jitter := time.Duration(w.random.Float64() * float64(w.config.Jitter))
	at, why, ok := w.departure(now, n)
	switch {
	case !ok:
		return at, 0, why
	case lost || w.config.MaxFrame > 0 && n > w.config.MaxFrame:
		return at, 0, DropLost
	}
	at = at.Add(w.config.Delay).Add(jitter) // the sum may overflow
	if late {
		at = at.Add(w.config.ReorderDelay)
	} else {
		if at.Before(w.lastDelivery) {
			at = w.lastDelivery
		}
		w.lastDelivery = at
	}
	if twice {
		return at, 2, 0
	}
	return at, 1, 0
}

// isLost reports whether a frame is lost, alone or in a burst. Its arguments are random numbers.
func (w *Fates) isLost(alone, change, burst float64) bool {
	if w.inBurst {
		w.inBurst = change >= w.config.Burst.End
	} else {
		w.inBurst = change < w.config.Burst.Start
	}
	return alone < w.config.Loss || w.inBurst && burst < w.config.Burst.Loss
}

// departure returns when Rate has transmitted a frame of n bytes; ok is false if the queue drops
// it. A frame that is transmitted at once needs no room.
func (w *Fates) departure(now time.Time, n int) (at time.Time, why Drop, ok bool) {
	if w.config.Rate == 0 {
		return now, 0, true
	}
	if w.rateFreeAt.Before(now) {
		w.rateFreeAt = now
	}
	waiting := int64(w.rateFreeAt.Sub(now).Seconds() * float64(w.config.Rate) / 8)
	if waiting > 0 && waiting+int64(n) > int64(w.config.QueueBytes) {
		return now, DropFull, false
	}
	if w.config.CoDel && w.codel.drops(w.rateFreeAt, w.rateFreeAt.Sub(now)) {
		return now, DropCoDel, false
	}
	w.rateFreeAt = w.rateFreeAt.Add(time.Duration(float64(n) * 8 / float64(w.config.Rate) * float64(time.Second)))
	return w.rateFreeAt, 0, true
}

package serve

// unset is the index of a timer that is not set.
const unset = -1

// timer is one entry of a heap. The zero value is not usable: index must be unset.
type timer struct {
	at    int64 // expiry, in loop time (nanoseconds since the loop started)
	index int   // in the heap, or unset
	conn  *conn
}

// timers is a binary heap of timers, the earliest first. Only the goroutine of its event loop uses
// it.
type timers []*timer

// next returns the earliest time, and false if no timer is set.
func (h timers) next() (int64, bool) {
	if len(h) == 0 {
		return 0, false
	}
	return h[0].at, true
}

// set makes t expire at the given time, whether or not it was set.
func (h *timers) set(t *timer, at int64) {
	t.at = at
	if t.index == unset {
		t.index = len(*h)
		*h = append(*h, t)
	}
	h.up(t.index)
	h.down(t.index)
}

// remove takes t out of the heap, if it is in.
func (h *timers) remove(t *timer) {
	i := t.index
	if i == unset {
		return
	}
	last := len(*h) - 1
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = unset
	if i < last {
		h.up(i)
		h.down(i)
	}
}

func (h timers) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h timers) up(i int) {
	for i > 0 && h[i].at < h[(i-1)/2].at {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].at < h[child].at {
			child = right
		}
		if h[i].at <= h[child].at {
			return
		}
		h.swap(i, child)
		i = child
	}
}

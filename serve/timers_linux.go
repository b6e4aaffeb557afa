package serve

// never is the time of a timer that is not set.
const never = -1

// timer is one entry of a heap. Zero is not usable: place must be never.
type timer struct {
	at    int64 // nanoseconds since its loop began
	place int   // in the heap, never when not set
	of    *conn
}

// timers is a binary heap of timers, the earliest first. One owner.
type timers []*timer

// next is the earliest time, false when no timer is set.
func (h timers) next() (int64, bool) {
	if len(h) == 0 {
		return 0, false
	}
	return h[0].at, true
}

// set has t fall due at the given time, whether or not it was set.
func (h *timers) set(t *timer, at int64) {
	t.at = at
	if t.place == never {
		t.place = len(*h)
		*h = append(*h, t)
	}
	h.up(t.place)
	h.down(t.place)
}

// unset takes t out, if it is in.
func (h *timers) unset(t *timer) {
	i := t.place
	if i == never {
		return
	}
	last := len(*h) - 1
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = never
	if i < last {
		h.up(i)
		h.down(i)
	}
}

func (h timers) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
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

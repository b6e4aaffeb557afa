package tcpip

import (
	"sync"

	"weir/tcpip/link"
)

// A frame's bytes are its queue's again at the next Read, and that may come before the dealers are done. So a packet that enters the network gets bytes of
// its own: of a small frame a copy, and of a large one, where the link lets it, the queue's buffer for one that the network no longer needs.

const (
	smallFrame = 2 << 10  // bytes of a frame that is copied
	largeFrame = 68 << 10 // as what a larger one counts: a superframe's buffer
	heldMost   = 16 << 20 // bytes of all frames that are in the network at once; what comes then is dropped
	freeMost   = 1 << 10  // packets that wait to be used again
	spareMost  = 128      // large buffers that do: a window of superframes
)

// kept is a packet that outlives its batch, with its frame.
type kept struct {
	packet
	frame link.Frame
	to    layer // where it goes next
	small [smallFrame]byte
	large []byte // for a frame that is not small
}

// keep makes the frame at i of what was last read the packet's.
func (k *kept) keep(i int, f *link.Frame, q link.Queue) {
	k.frame = *f
	if len(f.Bytes) <= smallFrame {
		k.frame.Bytes = append(k.small[:0], f.Bytes...)
	} else if q, ok := q.(link.Keeper); ok {
		k.large = q.Keep(i, k.large)
	} else {
		k.large = append(k.large[:0], f.Bytes...)
		k.frame.Bytes = k.large
	}
}

// store is where packets wait to be used again.
type store struct {
	mu    sync.Mutex
	free  []*kept
	spare [][]byte
	held  int // bytes of those that are used
}

// take gives packets for as many of the frames as there is room for, from the first on.
func (s *store) take(into []*kept, frames []link.Frame) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range frames {
		size := len(frames[i].Bytes)
		if s.held += footprint(size); s.held > heldMost {
			s.held -= footprint(size)
			return i
		}
		if into[i] = pop(&s.free); into[i] == nil {
			into[i] = new(kept)
		}
		if size > smallFrame {
			into[i].large = pop(&s.spare)
		}
	}
	return len(frames)
}

// give takes packets back.
func (s *store) give(all []*kept) {
	if len(all) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range all {
		s.held -= footprint(len(k.frame.Bytes))
		if k.large != nil && len(s.spare) < spareMost {
			s.spare = append(s.spare, k.large)
		}
		k.packet, k.frame, k.large = packet{}, link.Frame{}, nil
		if len(s.free) < freeMost {
			s.free = append(s.free, k)
		}
	}
}

// footprint is how much a frame of so many bytes takes.
func footprint(size int) int {
	if size > smallFrame {
		return largeFrame
	}
	return smallFrame
}

// pop takes the last of a list, which the caches know best; the zero value when there is none.
func pop[T any](list *[]T) (v T) {
	if last := len(*list) - 1; last >= 0 {
		v, (*list)[last] = (*list)[last], v
		*list = (*list)[:last]
	}
	return v
}

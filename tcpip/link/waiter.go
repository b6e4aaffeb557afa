package link

// Waiter is implemented by queues that ask their senders to wait before they drop frames: those of
// a [Pair] with a Buffer, and of links that wrap it. So TCP slows down without a loss. A sender
// that does not wait is still served, until twice as much waits.
type Waiter interface {
	// Full reports whether senders should wait. Any goroutine may call it.
	Full() bool

	// WhenRoom has call be called once: when the queue is half empty after it was full, when it is
	// closed, or at once if it is not full. The goroutine that reads the other end calls it: it
	// must not block, and must not write to the queue. Any goroutine may call WhenRoom.
	WhenRoom(call func())
}

// WriteWaiting waits until a queue has room, and then writes a frame. It reports whether the frame
// was sent. Closing stop ends the wait. A queue that is no [Waiter] is not waited for.
func WriteWaiting(q Queue, p *Parts, stop <-chan struct{}) (sent bool) {
	w, ok := q.(Waiter)
	for ok && w.Full() {
		room := make(chan struct{})
		w.WhenRoom(func() { close(room) })
		select {
		case <-room:
		case <-stop:
			return false
		}
	}
	return q.Write(p)
}

// isFull reports whether senders should wait.
func (p *pipe) isFull() bool {
	if p.buffer == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isFullLocked()
}

// isFullLocked reports whether senders should wait. The caller holds mu.
func (p *pipe) isFullLocked() bool { return p.buffer > 0 && p.waitingBytes >= p.buffer && !p.closed }

// callWhenRoom has call be called when there is room.
func (p *pipe) callWhenRoom(call func()) {
	p.mu.Lock()
	full := p.isFullLocked()
	if full {
		p.whenRoom = append(p.whenRoom, call)
	}
	p.mu.Unlock()
	if !full {
		call()
	}
}

// takeWaitingLocked returns the calls that wait for room. The caller holds mu.
func (p *pipe) takeWaitingLocked() []func() {
	waiting := p.whenRoom
	p.whenRoom = nil
	return waiting
}

func callAll(calls []func()) {
	for _, call := range calls {
		call()
	}
}

package link

// DirectReader is implemented by queues whose frames the goroutine that writes the other end may
// process itself, while the queue's reader waits in Read: direct dispatch, as in FreeBSD's netisr.
// That saves the wake-up of the reader. The ends of a [Pair] implement it.
type DirectReader interface {
	// ProcessDirect sets the function that processes frames in place of a Read. The queue calls it
	// only while Read waits for the first frame, once at a time, and Read does not return until it
	// has returned. Its frames are valid until then. It must not block, nor end its goroutine.
	// ProcessDirect is called before the first Read.
	ProcessDirect(process func(frames []Frame))
}

// DirectWriter is implemented by the other ends of such queues.
type DirectWriter interface {
	// WriteDirect has the other end process frames before it returns, in this goroutine, and
	// reports whether it did. It does not if frames wait there already, so that the order is kept,
	// or while the reader is awake: call Write then. Frames that the link does not carry are
	// counted as dropped. The frames are the caller's again when WriteDirect returns, and may have
	// changed. Any goroutine may call it.
	WriteDirect(frames []Frame) bool
}

// direct is what a pipe has for direct dispatch. The pipe's lock guards it.
type direct struct {
	process func([]Frame) // nil: the reader offers none
	idle    bool          // the reader waits in Read
	running bool          // a writer calls process
	// the reader was woken while running was set, or just after: no writer may call process before
	// the reader has looked at the pipe, so that writers never starve it
	readerReady bool
}

// ProcessDirect implements DirectReader.
func (m *memoryLink) ProcessDirect(process func([]Frame)) {
	m.in.mu.Lock()
	defer m.in.mu.Unlock()
	m.in.direct.process = func(frames []Frame) {
		m.receive(frames)
		process(frames)
	}
}

// WriteDirect implements DirectWriter. It reports whether the frames were processed.
func (m *memoryLink) WriteDirect(frames []Frame) bool {
	if m.closed.Load() || !m.out.startDirect() {
		return false
	}
	defer m.out.endDirect()
	accepted := frames[:0]
	for _, f := range frames {
		if !m.caps.accepts(&Parts{Head: f.Bytes, Offload: f.Offload}) {
			m.drop(DropRefused)
			continue
		}
		f.ChecksumOK = m.caps.Checksum
		m.send(len(f.Bytes))
		accepted = append(accepted, f)
	}
	if len(accepted) > 0 {
		m.out.direct.process(accepted)
	}
	return true
}

// startDirect reports whether the caller may process frames in place of the reader. It then calls
// endDirect.
func (p *pipe) startDirect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &p.direct
	if d.process == nil || !d.idle || d.running || d.readerReady || p.closed || p.wakePending || p.waitingLocked() > 0 {
		return false
	}
	d.running = true
	return true
}

// endDirect lets the reader go on, and wakes it if it has something to do.
func (p *pipe) endDirect() {
	p.mu.Lock()
	d := &p.direct
	d.running = false
	wake := d.readerReady || p.closed || p.wakePending || p.waitingLocked() > 0
	p.mu.Unlock()
	if wake {
		p.notify()
	}
}

// waitingLocked returns how many frames wait. The caller holds mu.
func (p *pipe) waitingLocked() int { return len(p.incoming) + len(p.reading) - p.readCount }

package link

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// CaptureConfig configures a capture.
type CaptureConfig struct {
	Name    string // name of the interface in the file; empty: none
	Comment string // comment on the whole file; empty: none
	SnapLen int    // maximum of bytes kept of each frame; default 262,144, which is all
	// size of the buffer in bytes; a second one is being written. Default 4 MiB. A frame that finds
	// no room is not recorded
	BufferSize int
}

// Capture is a link whose frames are recorded in a pcapng file, with time and direction, for
// Wireshark and tcpdump -r. Times are the system's, in nanoseconds.
//
// Frames are recorded as the link carries them. A superframe is one packet, longer than the MTU. A
// checksum that the device has to complete is not correct yet, and Wireshark reports it if
// configured to verify checksums. A sent frame is recorded before the link gets it, so that it
// precedes its answer. The file does not show whether the link then accepted it.
//
// Readers and writers copy frames into a buffer. A goroutine of Capture, which ends at Close,
// writes the buffer at the latest after a tenth of a second.
type Capture struct {
	Link
	queues      []*captureQueue
	w           io.Writer
	snapLen     int
	bufferLimit int

	// record -> run: the buffer is no longer empty; capacity 1, never closed
	nonEmpty chan struct{}
	halfFull chan struct{} // record -> run: the buffer is half full; capacity 1, never closed
	stop     chan struct{} // Close -> run: closed
	done     chan struct{} // run -> Close: closed when everything is written

	closeOnce sync.Once
	closeErr  error // written by run until done is closed, then by Close

	mu          sync.Mutex
	pending     []byte // blocks to be written
	frames      uint64 // number of frames in pending
	missed      uint64
	writeFailed bool // the writer has failed: nothing more is recorded
	closed      bool
}

// captureDelay is how long a frame waits for others before it is written, so that a single frame
// does not cost a wake-up.
const captureDelay = 100 * time.Millisecond

// NewCapture records the frames of l to w. It takes l over. w stays the caller's, and is written to
// by one goroutine at a time until Close returns. The error is an invalid config, or a failure to
// write the file's header; l is then unchanged.
func NewCapture(l Link, w io.Writer, c CaptureConfig) (*Capture, error) {
	if c.SnapLen == 0 {
		c.SnapLen = 1 << 18
	}
	if c.BufferSize == 0 {
		c.BufferSize = 4 << 20
	}
	if c.SnapLen < 0 || c.BufferSize < 0 {
		return nil, fmt.Errorf("link: a capture with a SnapLen of %d and a BufferSize of %d bytes: make both at least 1, or 0 for the default", c.SnapLen, c.BufferSize)
	}
	if len(c.Name) > 1000 || len(c.Comment) > 1<<16-1 {
		return nil, errors.New("link: a capture's Name has at most 1,000 bytes, its Comment 65,535: shorten it")
	}
	if _, err := w.Write(appendSection(nil, "weir", c.Comment, c.Name, c.SnapLen, l.Caps().Medium)); err != nil {
		return nil, fmt.Errorf("link: writing the header of a capture: %w", err)
	}
	t := &Capture{Link: l, w: w, snapLen: c.SnapLen, bufferLimit: c.BufferSize, nonEmpty: make(chan struct{}, 1), halfFull: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	for i := range l.Caps().Queues {
		t.queues = append(t.queues, &captureQueue{Queue: l.Queue(i), capture: t})
	}
	go t.run() // until Close
	return t, nil
}

// Queue implements Link.
func (t *Capture) Queue(i int) Queue { return t.queues[i] }

// Missed returns how many frames are not in the file because the buffer was full or writing failed.
func (t *Capture) Missed() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.missed
}

// Close closes the link and returns when everything is written. It returns the link's error and the
// first write error.
func (t *Capture) Close() error {
	t.closeOnce.Do(func() {
		err := t.Link.Close()
		t.mu.Lock()
		t.closed = true
		t.mu.Unlock()
		close(t.stop)
		<-t.done
		t.closeErr = errors.Join(err, t.closeErr)
	})
	return t.closeErr
}

// run writes recorded frames until Close.
func (t *Capture) run() {
	defer close(t.done)
	for buffer := []byte(nil); ; {
		select {
		case <-t.nonEmpty:
		case <-t.stop:
			t.write(buffer)
			return
		}
		timer := time.NewTimer(captureDelay)
		select {
		case <-timer.C:
		case <-t.halfFull:
		case <-t.stop:
		}
		timer.Stop()
		buffer = t.write(buffer)
	}
}

// write writes the pending blocks while new ones go to buffer. It returns the buffer for the next
// call.
func (t *Capture) write(buffer []byte) []byte {
	t.mu.Lock()
	b, frames := t.pending, t.frames
	t.pending, t.frames = buffer[:0], 0
	t.mu.Unlock()
	if len(b) == 0 {
		return b
	}
	if _, err := t.w.Write(b); err != nil {
		t.closeErr = fmt.Errorf("link: writing a capture: %w", err)
		t.mu.Lock()
		t.writeFailed = true
		t.missed += frames + t.frames
		t.pending, t.frames = nil, 0
		t.mu.Unlock()
	}
	return b
}

// record queues a frame for writing.
func (t *Capture) record(flags byte, length int, parts ...[]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.pending)
	if t.closed || t.writeFailed || before+min(length, t.snapLen)+packetOverhead > t.bufferLimit {
		t.missed++
		return
	}
	t.frames++
	t.pending = appendPacket(t.pending, time.Now(), flags, t.snapLen, parts...)
	if before == 0 {
		trySignal(t.nonEmpty)
	}
	if half := t.bufferLimit / 2; before < half && len(t.pending) >= half {
		trySignal(t.halfFull)
	}
}

// trySignal puts a token into a channel of capacity 1, unless there is one.
func trySignal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// captureQueue is a queue whose frames are recorded.
type captureQueue struct {
	Queue
	capture *Capture
}

// Read implements Queue.
func (q *captureQueue) Read(batch []Frame, wait time.Duration) (int, error) {
	n, err := q.Queue.Read(batch, wait)
	for i := range batch[:n] {
		q.capture.record(inbound, len(batch[i].Bytes), batch[i].Bytes)
	}
	return n, err
}

// Full implements Waiter. It reports whether senders should wait.
func (q *captureQueue) Full() bool {
	w, ok := q.Queue.(Waiter)
	return ok && w.Full()
}

// WhenRoom implements Waiter.
func (q *captureQueue) WhenRoom(call func()) {
	if w, ok := q.Queue.(Waiter); ok {
		w.WhenRoom(call)
		return
	}
	call()
}

// Write implements Queue. It reports whether the frame was sent.
func (q *captureQueue) Write(p *Parts) bool {
	q.capture.record(outbound, p.Len(), p.Head, p.Body[0], p.Body[1])
	return q.Queue.Write(p)
}

// Watch implements Watcher. It reports whether the captured queue can wait for a descriptor.
func (q *captureQueue) Watch(fd int) bool {
	w, ok := q.Queue.(Watcher)
	return ok && w.Watch(fd)
}

package link

import (
	"errors"
	"fmt"
	"io"
	"net"
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
// Readers and writers copy frames into a buffer. A goroutine, which ends at Close, writes the
// buffer at the latest after a tenth of a second. Captures of Add share the file, the buffer and
// the goroutine: the last Close ends it.
type Capture struct {
	Link
	queues    []*captureQueue
	file      *recorder
	number    uint32 // of the interface in the file
	closeOnce sync.Once
	closeErr  error // result of Close
	closed    bool  // guarded by file.mu
}

// recorder writes the file of one or more captures.
type recorder struct {
	w           io.Writer
	snapLen     int
	bufferLimit int

	// record -> run: the buffer is no longer empty; capacity 1, never closed
	nonEmpty chan struct{}
	halfFull chan struct{} // record -> run: the buffer is half full; capacity 1, never closed
	stop     chan struct{} // the last Close -> run: closed
	done     chan struct{} // run -> Close: closed when everything is written
	writeErr error         // the first error; owned by run until done is closed

	mu          sync.Mutex
	pending     []byte // blocks to be written
	frames      uint64 // number of frames in pending
	missed      uint64
	interfaces  uint32 // number of interfaces in the file
	open        int    // captures that are not closed
	writeFailed bool   // the writer has failed: nothing more is recorded
}

// captureDelay is how long a frame waits for others before it is written, so that a single frame
// does not cost a wake-up.
const captureDelay = 100 * time.Millisecond

// NewCapture records the frames of l to w. It takes l over. w stays the caller's, and is written to
// by one goroutine at a time until Close returns. The error is an invalid config, or a failure to
// write the file's header; l is then unchanged.
func NewCapture(l Link, w io.Writer, c CaptureConfig) (*Capture, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := writeHeader(w, l.Caps().Medium, c); err != nil {
		return nil, err
	}
	r := &recorder{w: w, snapLen: c.SnapLen, bufferLimit: c.BufferSize, nonEmpty: make(chan struct{}, 1), halfFull: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), interfaces: 1, open: 1}
	go r.run() // until the last Close
	return newCapture(l, r, 0), nil
}

// maxCaptureName and maxComment are how many bytes the name of an interface and a comment may have.
const maxCaptureName, maxComment = 1000, 1<<16 - 1

func (c CaptureConfig) withDefaults() (CaptureConfig, error) {
	if c.SnapLen == 0 {
		c.SnapLen = 1 << 18
	}
	if c.BufferSize == 0 {
		c.BufferSize = 4 << 20
	}
	if c.SnapLen < 0 || c.BufferSize < 0 {
		return c, fmt.Errorf("link: a capture with a SnapLen of %d and a BufferSize of %d bytes: make both at least 1, or 0 for the default", c.SnapLen, c.BufferSize)
	}
	if len(c.Name) > maxCaptureName || len(c.Comment) > maxComment {
		return c, errors.New("link: a capture's Name has at most 1,000 bytes, its Comment 65,535: shorten it")
	}
	return c, nil
}

// writeHeader writes the start of a file with one interface.
func writeHeader(w io.Writer, m Medium, c CaptureConfig) error {
	header := appendInterface(appendSection(nil, "weir", c.Comment), c.Name, c.SnapLen, m)
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("link: writing the header of a capture: %w", err)
	}
	return nil
}

func newCapture(l Link, r *recorder, number uint32) *Capture {
	t := &Capture{Link: l, file: r, number: number}
	for i := range l.Caps().Queues {
		t.queues = append(t.queues, &captureQueue{Queue: l.Queue(i), capture: t})
	}
	return t
}

// Add records the frames of another link to the same file, as an interface with that name; it may
// be empty. It takes l over. The error is an invalid name, or that t is closed; l is then
// unchanged.
func (t *Capture) Add(l Link, name string) (*Capture, error) {
	if len(name) > maxCaptureName {
		return nil, errors.New("link: the name of a link in a capture has at most 1,000 bytes: shorten it")
	}
	r := t.file
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == 0 {
		return nil, fmt.Errorf("link: adding a link to a capture: %w", net.ErrClosed)
	}
	c := newCapture(l, r, r.interfaces)
	r.open++
	r.interfaces++
	before := len(r.pending)
	r.pending = appendInterface(r.pending, name, r.snapLen, l.Caps().Medium)
	r.signalLocked(before)
	return c, nil
}

// Queue implements Link.
func (t *Capture) Queue(i int) Queue { return t.queues[i] }

// Missed returns how many frames are not in the file because the buffer was full or writing failed.
func (t *Capture) Missed() uint64 {
	t.file.mu.Lock()
	defer t.file.mu.Unlock()
	return t.file.missed
}

// Close closes the link. The last Close of those that share a file returns when everything is
// written. It returns the link's error, and then the first write error.
func (t *Capture) Close() error {
	t.closeOnce.Do(func() {
		t.closeErr = errors.Join(t.Link.Close(), t.endRecording())
	})
	return t.closeErr
}

// endRecording ends the recording of this link. The last of those that share a file waits until it
// is written, and returns the first write error.
func (t *Capture) endRecording() error {
	r := t.file
	r.mu.Lock()
	t.closed = true
	r.open--
	last := r.open == 0
	r.mu.Unlock()
	if !last {
		return nil
	}
	close(r.stop)
	<-r.done
	return r.writeErr
}

// run writes recorded frames until the last Close.
func (r *recorder) run() {
	defer close(r.done)
	for buffer := []byte(nil); ; {
		select {
		case <-r.nonEmpty:
		case <-r.stop:
			r.write(buffer)
			return
		}
		timer := time.NewTimer(captureDelay)
		select {
		case <-timer.C:
		case <-r.halfFull:
		case <-r.stop:
		}
		timer.Stop()
		buffer = r.write(buffer)
	}
}

// write writes the pending blocks while new ones go to buffer. It returns the buffer for the next
// call.
func (r *recorder) write(buffer []byte) []byte {
	r.mu.Lock()
	b, frames := r.pending, r.frames
	r.pending, r.frames = buffer[:0], 0
	r.mu.Unlock()
	if len(b) == 0 {
		return b
	}
	if _, err := r.w.Write(b); err != nil {
		r.writeErr = fmt.Errorf("link: writing a capture: %w", err)
		r.mu.Lock()
		r.writeFailed = true
		r.missed += frames + r.frames
		r.pending, r.frames = nil, 0
		r.mu.Unlock()
	}
	return b
}

// record queues a frame for writing.
func (t *Capture) record(flags byte, length int, parts ...[]byte) {
	r := t.file
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.pending)
	if t.closed || r.writeFailed || before+min(length, r.snapLen)+packetOverhead > r.bufferLimit {
		r.missed++
		return
	}
	r.frames++
	r.pending = appendPacket(r.pending, t.number, time.Now(), flags, "", r.snapLen, parts...)
	r.signalLocked(before)
}

// signalLocked wakes run for what was appended after the first bytes. The caller holds mu.
func (r *recorder) signalLocked(before int) {
	if before == 0 {
		trySignal(r.nonEmpty)
	}
	if half := r.bufferLimit / 2; before < half && len(r.pending) >= half {
		trySignal(r.halfFull)
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

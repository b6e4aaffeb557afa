package link

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// CaptureConfig says how a link is recorded.
type CaptureConfig struct {
	Name    string // of the interface, as the file has it; empty: none
	Comment string // on the whole file; empty: none
	Snap    int    // bytes of each frame that are kept; default 262,144, which is all
	// bytes that may wait for the writer, and as many may be on their way to it; default 4 MiB. A
	// frame that finds no room is not recorded
	Buffer int
}

// Capture is a link whose frames are recorded in a file of pcapng, which Wireshark and tcpdump -r
// read: when, which way, and what. Times are the system's, in nanoseconds.
//
// Frames are recorded as the link has them. Of a superframe there is one packet, longer than the
// MTU; a checksum that the device is to complete is not yet right, and Wireshark, if told to look
// at checksums, says so. A frame to be sent is recorded before it is given to the link, so that it
// stands before its answer: whether the link then took it is not in the file.
//
// Whoever reads or writes frames copies them into a buffer; a goroutine of Capture's gives them to
// the writer, at the latest after a tenth of a second. It ends by Close.
type Capture struct {
	Link
	queues []*captureQueue
	w      io.Writer
	snap   int
	most   int

	// who records -> run: the buffer was empty, and is no more; capacity 1, never closed
	some chan struct{}
	half chan struct{} // who records -> run: the buffer is half full; capacity 1, never closed
	stop chan struct{} // Close -> run: closed
	done chan struct{} // run -> Close: closed when all is written

	once sync.Once
	err  error // run's until done, and then Close's

	mu      sync.Mutex
	pending []byte // blocks to be written
	frames  uint64 // how many those are
	missed  uint64
	failed  bool // the writer has: nothing more is recorded
	closed  bool
}

// captureDelay is how long a frame waits for others before it is written: a frame alone is not
// worth waking up for.
const captureDelay = 100 * time.Millisecond

// NewCapture records what passes l, which it takes over, to w, which stays the caller's and is
// written to by one goroutine at a time until Close has returned. The error is that of writing the
// file's begin, or of a config that cannot be; l is then as it was.
func NewCapture(l Link, w io.Writer, c CaptureConfig) (*Capture, error) {
	if c.Snap == 0 {
		c.Snap = 1 << 18
	}
	if c.Buffer == 0 {
		c.Buffer = 4 << 20
	}
	if c.Snap < 0 || c.Buffer < 0 {
		return nil, fmt.Errorf("link: a capture with a Snap of %d and a Buffer of %d bytes: make both at least 1, or 0 for the default", c.Snap, c.Buffer)
	}
	if len(c.Name) > 1000 || len(c.Comment) > 1<<16-1 {
		return nil, errors.New("link: a capture's Name has at most 1,000 bytes, its Comment 65,535: shorten it")
	}
	if _, err := w.Write(appendSection(nil, "weir", c.Comment, c.Name, c.Snap)); err != nil {
		return nil, fmt.Errorf("link: beginning a capture: %w", err)
	}
	t := &Capture{Link: l, w: w, snap: c.Snap, most: c.Buffer, some: make(chan struct{}, 1), half: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	for i := range l.Caps().Queues {
		t.queues = append(t.queues, &captureQueue{Queue: l.Queue(i), t: t})
	}
	go t.run() // until Close
	return t, nil
}

// Queue implements Link.
func (t *Capture) Queue(i int) Queue { return t.queues[i] }

// Missed is how many frames are not in the file, because the writer was behind or has failed.
func (t *Capture) Missed() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.missed
}

// Close closes the link and returns when everything is written. The error is the link's, and the
// first one of writing.
func (t *Capture) Close() error {
	t.once.Do(func() {
		err := t.Link.Close()
		t.mu.Lock()
		t.closed = true
		t.mu.Unlock()
		close(t.stop)
		<-t.done
		t.err = errors.Join(err, t.err)
	})
	return t.err
}

// run writes what is recorded.
func (t *Capture) run() {
	defer close(t.done)
	for buffer := []byte(nil); ; {
		select {
		case <-t.some:
		case <-t.stop:
			t.write(buffer)
			return
		}
		timer := time.NewTimer(captureDelay)
		select {
		case <-timer.C:
		case <-t.half:
		case <-t.stop:
		}
		timer.Stop()
		buffer = t.write(buffer)
	}
}

// write writes what is pending, has buffer take what comes meanwhile, and gives the buffer for next
// time.
func (t *Capture) write(buffer []byte) []byte {
	t.mu.Lock()
	b, frames := t.pending, t.frames
	t.pending, t.frames = buffer[:0], 0
	t.mu.Unlock()
	if len(b) == 0 {
		return b
	}
	if _, err := t.w.Write(b); err != nil {
		t.err = fmt.Errorf("link: writing a capture: %w", err)
		t.mu.Lock()
		t.failed = true
		t.missed += frames + t.frames
		t.pending, t.frames = nil, 0
		t.mu.Unlock()
	}
	return b
}

// record has a frame be written.
func (t *Capture) record(flags byte, length int, parts ...[]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.pending)
	if t.closed || t.failed || before+min(length, t.snap)+packetOverhead > t.most {
		t.missed++
		return
	}
	t.frames++
	t.pending = appendPacket(t.pending, time.Now(), flags, t.snap, parts...)
	if before == 0 {
		tell(t.some)
	}
	if half := t.most / 2; before < half && len(t.pending) >= half {
		tell(t.half)
	}
}

// tell puts a token into a channel of capacity 1, if there is none.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// captureQueue is a queue that is recorded.
type captureQueue struct {
	Queue
	t *Capture
}

// Read implements Queue.
func (q *captureQueue) Read(batch []Frame, wait time.Duration) (int, error) {
	n, err := q.Queue.Read(batch, wait)
	for i := range batch[:n] {
		q.t.record(inbound, len(batch[i].Bytes), batch[i].Bytes)
	}
	return n, err
}

// Write implements Queue.
func (q *captureQueue) Write(p *Parts) bool {
	q.t.record(outbound, p.Len(), p.Head, p.Body[0], p.Body[1])
	return q.Queue.Write(p)
}

package conn

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/web/http1"
)

// Rules limit how long a client may keep a server waiting. Times are rounded to the watch's tick; 0
// is no limit.
type Rules struct {
	// from the first byte of a request, or from the start of the connection, to the end of the
	// head; also of a TLS handshake
	Header time.Duration
	Idle   time.Duration // between a response and the next request
	Grace  time.Duration // how long a request's body, or a response, may be slower than Rate
	Rate   int64         // bytes per second
	HTTP   http1.Limits
}

// Watch drops the slow connections of one server. A line stores the time by which a read must end,
// of a clock that only the watch reads, and at each tick the watch drops the lines that are late.
// So a request costs no timer and no system call. Any goroutine may call its methods.
type Watch struct {
	rules Rules
	clock atomic.Int64 // nanoseconds since start, as of the last tick
	start time.Time

	mu    sync.Mutex
	lines []*Line // that are open
	// carries no values; closed when the last line leaves; nil until Empty is called
	empty    chan struct{}
	stopping bool

	dropped atomic.Int64 // lines dropped for slowness
}

// NewWatch returns the watch of a server. Without Run it drops no line.
func NewWatch(r Rules) *Watch {
	w := &Watch{rules: r, start: time.Now()}
	w.clock.Store(1) // 0 stands for no time
	return w
}

// tick returns the time between two checks of the lines: an eighth of the shortest limit, between
// 10 ms and a second.
func (r Rules) tick() time.Duration {
	tick := 8 * time.Second
	for _, d := range []time.Duration{r.Header, r.Idle, r.Grace} {
		if d > 0 {
			tick = min(tick, d)
		}
	}
	return max(tick/8, 10*time.Millisecond)
}

// Run drops slow lines until done is closed.
func (w *Watch) Run(done <-chan struct{}) {
	ticker := time.NewTicker(w.rules.tick())
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			w.check()
		}
	}
}

// check drops the lines that are late.
func (w *Watch) check() {
	now := int64(time.Since(w.start)) + 1
	w.clock.Store(now)
	var late []*Line
	w.mu.Lock()
	for _, l := range w.lines {
		if l.isLate(now, &w.rules) {
			late = append(late, l)
		}
	}
	w.mu.Unlock()
	for _, l := range late {
		w.dropped.Add(1)
		l.abort()
	}
}

// Dropped returns the number of lines that were dropped.
func (w *Watch) Dropped() int64 { return w.dropped.Load() }

// Open returns the number of open lines.
func (w *Watch) Open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lines)
}

// Line adds a connection to the watch until it is closed. Then it leaves its place, which may be
// nil.
func (w *Watch) Line(c net.Conn, place *Place) *Line {
	tcp, _ := c.(*net.TCPConn)
	l := &Line{Conn: c, tcp: tcp, raw: rawConnOf(c), watch: w, place: place, nextCheck: w.clock.Load() + int64(w.rules.Grace)/4}
	w.mu.Lock()
	l.index = len(w.lines)
	w.lines = append(w.lines, l)
	stopping := w.stopping
	w.mu.Unlock()
	if stopping {
		l.noteStop()
	}
	if place != nil {
		place.Opened(func() { l.Close() })
	}
	return l
}

// rawConnOf returns the descriptor of a connection, nil if it has none.
func rawConnOf(c net.Conn) syscall.RawConn {
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// remove removes a line. It reports whether the watch had it.
func (w *Watch) remove(l *Line) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.index < 0 {
		return false
	}
	last := len(w.lines) - 1
	w.lines[l.index] = w.lines[last]
	w.lines[l.index].index = l.index
	w.lines[last] = nil
	w.lines, l.index = w.lines[:last], -1
	if l.ended != nil {
		close(l.ended)
	}
	if last == 0 && w.empty != nil {
		close(w.empty)
		w.empty = nil
	}
	return true
}

// Stop notifies all lines, also later ones, that the server stops: connections without input so far
// are closed, and the contexts of requests that have taken a connection over are canceled.
func (w *Watch) Stop() {
	w.mu.Lock()
	lines := append([]*Line(nil), w.lines...)
	w.stopping = true
	w.mu.Unlock()
	for _, l := range lines {
		l.noteStop()
	}
}

// Empty returns a channel that is closed when no line is left. It may be called once, and no line
// may be added after it.
func (w *Watch) Empty() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	empty := make(chan struct{})
	if len(w.lines) == 0 {
		close(empty)
		return empty
	}
	w.empty = empty
	return empty
}

// CloseAll closes all lines, and returns how many there were.
func (w *Watch) CloseAll() int {
	w.mu.Lock()
	lines := append([]*Line(nil), w.lines...)
	w.mu.Unlock()
	for _, l := range lines {
		l.Close()
	}
	return len(lines)
}

package conn

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/web/http1"
)

// Rules are how long a client may keep a server waiting. Times are rounded to the watch's tick;
// zero means no limit.
type Rules struct {
	// from a request's first byte, or from the beginning of the connection, to its head's end; also
	// a TLS handshake
	Header time.Duration
	Idle   time.Duration // between one request's answer and the next request
	Grace  time.Duration // how long a body, or the reading of an answer, may be slower than Rate
	Rate   int64         // bytes a second
	HTTP   http1.Limits
}

// Watch looks after the lines of one server: a line says by when what it waits for must have
// happened, with a clock that only the watch reads, and the watch drops what is late. So a request
// costs no timer and no system call. Its methods may be called from any goroutine.
type Watch struct {
	rules Rules
	clock atomic.Int64 // nanoseconds since start, as of the last tick
	start time.Time

	mu       sync.Mutex
	lines    []*Line       // those open; each knows its place
	empty    chan struct{} // no values, closed by the last line that goes after Empty; nil before
	stopping bool

	slower atomic.Int64 // lines dropped for slowness
}

// NewWatch is for one server. Run must be called for anything to be dropped.
func NewWatch(r Rules) *Watch {
	w := &Watch{rules: r, start: time.Now()}
	w.clock.Store(1) // 0 is "nothing awaited"
	return w
}

// tick is how often lines are looked at: an eighth of the shortest time, between 10 ms and a
// second.
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
	ticker, pulse := time.NewTicker(w.rules.tick()), time.NewTicker(beat)
	defer ticker.Stop()
	defer pulse.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			w.look()
		case <-pulse.C: // see direct
		}
	}
}

// look is one tick.
func (w *Watch) look() {
	now := int64(time.Since(w.start)) + 1
	w.clock.Store(now)
	var late []*Line
	w.mu.Lock()
	for _, l := range w.lines {
		if l.late(now, &w.rules) {
			late = append(late, l)
		}
	}
	w.mu.Unlock()
	for _, l := range late {
		w.slower.Add(1)
		l.abort()
	}
}

// Dropped is how many lines were ended for being too slow.
func (w *Watch) Dropped() int64 { return w.slower.Load() }

// Open is how many lines there are.
func (w *Watch) Open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lines)
}

// Line takes a connection into the watch until it is closed. Its place, if not nil, is left then.
func (w *Watch) Line(c net.Conn, place *Place) *Line {
	tcp, _ := c.(*net.TCPConn)
	l := &Line{Conn: c, tcp: tcp, raw: rawConnOf(c), watch: w, place: place, next: w.clock.Load() + int64(w.rules.Grace)/4}
	if tcp != nil {
		l.direct.over(tcp)
	}
	w.mu.Lock()
	l.index = len(w.lines)
	w.lines = append(w.lines, l)
	stopping := w.stopping
	w.mu.Unlock()
	if stopping {
		l.tell()
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

// forget takes a line out, and says whether it was in.
func (w *Watch) forget(l *Line) bool {
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

// Stop tells all lines, and those to come, that the server stops: connections that nothing came on
// yet end, and whoever took one over sees its request's context end.
func (w *Watch) Stop() {
	w.mu.Lock()
	lines := append([]*Line(nil), w.lines...)
	w.stopping = true
	w.mu.Unlock()
	for _, l := range lines {
		l.tell()
	}
}

// Empty gives a channel that is closed when no line is left. It is for the end: no line may come
// after it, and it is called once.
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

// CloseAll ends all lines, and says how many there were.
func (w *Watch) CloseAll() int {
	w.mu.Lock()
	lines := append([]*Line(nil), w.lines...)
	w.mu.Unlock()
	for _, l := range lines {
		l.Close()
	}
	return len(lines)
}

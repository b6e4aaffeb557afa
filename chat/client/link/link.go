// Package link connects a client to a server: it dials, delivers lines, and reconnects after the
// connection ends. Package client interprets the lines.
//
// # Limitations
//
// A line longer than 64 KiB ends the connection. Proxies are not supported.
package link

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxLine = 64 << 10
	// bytes that the server has not accepted; beyond it the connection is closed
	maxUnsent   = 4 << 20
	maxLines    = 200 // maximum lines per delivery
	dialTimeout = 15 * time.Second
)

// Up reports that a connection is established.
type Up struct{ Conn *Conn }

// Lines are lines from the server, without their line ends.
type Lines []string

// Down reports that the connection ended or failed, and the delay until the next attempt.
type Down struct {
	Err  error
	Next time.Duration
}

// Run connects until ctx is done, and returns when everything is closed. It calls deliver with Up,
// Lines and Down from its own goroutine. While deliver blocks, no input is read (backpressure).
func Run(ctx context.Context, dial func(context.Context) (net.Conn, error), deliver func(signal any)) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		good, err := connect(ctx, dial, deliver)
		if good {
			attempt = 0
		}
		wait := Backoff(attempt)
		if ctx.Err() != nil {
			return
		}
		deliver(Down{err, wait})
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// Backoff returns the delay before the next attempt: half a second, doubled with each attempt, at
// most 30 seconds.
func Backoff(attempt int) time.Duration {
	return min(30*time.Second, 500*time.Millisecond<<min(attempt, 10))
}

// connect runs one connection until it ends. healthy reports whether it was marked as healthy.
func connect(ctx context.Context, dial func(context.Context) (net.Conn, error), deliver func(any)) (good bool, err error) {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	conn, err := dial(dialing)
	cancel()
	if err != nil {
		return false, err
	}
	c := &Conn{conn: conn, wake: make(chan struct{}, 1), done: make(chan struct{})}
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	var writer sync.WaitGroup
	writer.Go(c.write)
	deliver(Up{c})
	err = read(conn, deliver)
	c.Close()
	writer.Wait()
	return c.healthy.Load(), err
}

// read delivers lines, as many at once as have arrived.
func read(conn net.Conn, deliver func(any)) error {
	r := bufio.NewReaderSize(conn, maxLine)
	var lines Lines
	for {
		line, err := r.ReadSlice('\n')
		if err == nil {
			lines = append(lines, string(bytes.TrimRight(line, "\r\n")))
		}
		ahead, _ := r.Peek(r.Buffered())
		if len(lines) > 0 && (err != nil || len(lines) == maxLines || bytes.IndexByte(ahead, '\n') < 0) {
			deliver(lines)
			lines = nil
		}
		if err != nil {
			return err
		}
	}
}

// Conn is one connection. It is safe for concurrent use, also after it ended.
type Conn struct {
	conn    net.Conn
	healthy atomic.Bool
	wake    chan struct{} // wakes write when out has data; capacity 1, never closed
	done    chan struct{} // closed by Close
	once    sync.Once

	mu  sync.Mutex
	out []byte
}

// Send queues bytes in order and does not block. After the end of the connection they are dropped.
func (c *Conn) Send(b []byte) {
	select {
	case <-c.done:
		return
	default:
	}
	c.mu.Lock()
	c.out = append(c.out, b...)
	full := len(c.out) > maxUnsent
	c.mu.Unlock()
	if full {
		c.Close()
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// MarkHealthy marks the connection as working: the backoff starts again from its minimum.
func (c *Conn) MarkHealthy() { c.healthy.Store(true) }

// Close closes the connection at once. Output that the server has not received is dropped: it must
// not arrive after the client has sent it again on another connection. Down follows.
func (c *Conn) Close() {
	inner := c.conn
	if secured, ok := inner.(interface{ NetConn() net.Conn }); ok {
		inner = secured.NetConn()
	}
	if tcp, ok := inner.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	c.end()
}

// end closes the connection. Output that was sent before still arrives.
func (c *Conn) end() {
	c.once.Do(func() {
		close(c.done)
		c.conn.Close()
	})
}

// write writes queued bytes until the connection ends.
func (c *Conn) write() {
	for {
		select {
		case <-c.done:
			return
		case <-c.wake:
		}
		c.mu.Lock()
		out := c.out
		c.out = nil
		c.mu.Unlock()
		if _, err := c.conn.Write(out); err != nil {
			c.Close()
			return
		}
	}
}

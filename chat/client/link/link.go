// Package link connects a client to a server, again and again: it dials, passes lines on, and dials
// again when the connection ends. What lines mean is package client's.
//
// # Limitations
//
// A line of more than 64 KiB ends the connection. There is no proxy.
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
	maxLine     = 64 << 10
	maxUnsent   = 4 << 20 // bytes that the server does not take; then the connection is ended
	maxLines    = 200     // passed on at once
	dialTimeout = 15 * time.Second
)

// Up says that a connection is there.
type Up struct{ Conn *Conn }

// Lines are lines of the server's, without their ends.
type Lines []string

// Down says that the connection ended, or could not be made, and when the next is tried.
type Down struct {
	Err  error
	Next time.Duration
}

// Run connects until ctx is done, and returns when all is closed. Deliver gets Up, Lines and Down,
// from this goroutine alone; it may wait, and the server then waits too.
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

// Backoff is how long to wait before a further attempt: half a second, doubled each time, 30
// seconds at most.
func Backoff(attempt int) time.Duration {
	return min(30*time.Second, 500*time.Millisecond<<min(attempt, 10))
}

// connect serves one connection to its end. Good says that its user called it so.
func connect(ctx context.Context, dial func(context.Context) (net.Conn, error), deliver func(any)) (good bool, err error) {
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	conn, err := dial(dialing)
	cancel()
	if err != nil {
		return false, err
	}
	c := &Conn{conn: conn, more: make(chan struct{}, 1), done: make(chan struct{})}
	stop := context.AfterFunc(ctx, c.Close)
	defer stop()
	var writer sync.WaitGroup
	writer.Go(c.write)
	deliver(Up{c})
	err = read(conn, deliver)
	c.Close()
	writer.Wait()
	return c.good.Load(), err
}

// read passes on lines, as many at once as have come.
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

// Conn is one connection. Its methods may be called by any goroutine, also after its end.
type Conn struct {
	conn net.Conn
	good atomic.Bool
	more chan struct{} // Send -> write; capacity 1: a token says that there is something
	done chan struct{} // closed by Close
	once sync.Once

	mu  sync.Mutex
	out []byte
}

// Send has bytes written, in order. It does not wait. Behind the connection's end they are dropped.
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
	case c.more <- struct{}{}:
	default:
	}
}

// Good says that the connection is of use: the next one is tried soon.
func (c *Conn) Good() { c.good.Store(true) }

// Close ends the connection. Down follows.
func (c *Conn) Close() {
	c.once.Do(func() {
		close(c.done)
		c.conn.Close()
	})
}

// write writes until the connection ends.
func (c *Conn) write() {
	for {
		select {
		case <-c.done:
			return
		case <-c.more:
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

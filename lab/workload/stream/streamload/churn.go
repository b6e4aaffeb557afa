package streamload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/lab/internal/raw"
	"weir/lab/internal/tally"
)

const (
	churnWorkers = 64              // short connections in progress at once
	churnTimeout = 5 * time.Second // per connection
)

// churn opens connections at a constant rate. Each connects, sends one message, half-closes, reads
// to the end (comparing, if echoes are checked) and closes. Each worker goroutine takes the next
// number, waits until that connection is due and runs it. When all workers are busy, the next
// connection starts late and is counted as behind. No connection is omitted: one that was due and
// never started counts as behind too. stop ends the workers.
type churn struct {
	churnPlan
	addr    string
	payload *payload
	size    int
	echo    bool
	clock   raw.Clock
	window  *tally.Window
	// makes the connections, which have a method CloseWrite; nil: net.Dialer.Dial
	dial    func(network, address string) (net.Conn, error)
	cancel  context.CancelFunc
	workers sync.WaitGroup
	next    atomic.Int64
	sent    *atomic.Int64 // workers -> any goroutine: connections that succeeded

	mu              sync.Mutex // guards the fields below
	startedInWindow int64      // started, of the window's connections
	warmConnections int64      // succeeded, and due before the window
	results         ChurnReport
	duration        tally.Distribution
	failures        tally.Failures
}

// churnPlan computes when each short connection is due.
type churnPlan struct {
	start  int64   // ns; the first connection
	period float64 // ns
}

func (p *churnPlan) due(i int64) int64 { return p.start + int64(float64(i)*p.period) }

// number returns how many connections are due before the given time.
func (p *churnPlan) number(before int64) int64 {
	n := int64(max(0, float64(before-p.start)/p.period))
	for p.due(n) < before {
		n++
	}
	for n > 0 && p.due(n-1) >= before {
		n--
	}
	return n
}

// run starts the workers, which end when ctx ends or stop is called.
func (c *churn) run(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	if c.dial == nil {
		c.dial = (&net.Dialer{Timeout: churnTimeout, KeepAlive: -1}).Dial
	}
	c.duration = tally.NewDistribution()
	for range churnWorkers {
		c.workers.Go(func() { c.work(ctx) })
	}
}

// stop waits for the connections in progress and reports on those that were due in the window
// between the given times. Both times are 0 if the window never started.
func (c *churn) stop(from, to int64) (ChurnReport, tally.Failures) {
	c.cancel()
	c.workers.Wait()
	r := &c.results
	r.Offered = max(c.number(to)-c.number(from), c.startedInWindow)
	r.Behind += r.Offered - c.startedInWindow
	r.DurationUS = c.duration.Percentiles()
	return *r, c.failures
}

func (c *churn) work(ctx context.Context) {
	for ctx.Err() == nil {
		i := c.next.Add(1) - 1
		due := c.due(i)
		behind := c.clock.Now() > due
		if !c.awaitDue(ctx, due) {
			return
		}
		c.record(c.runOne(int(i)), due, behind)
	}
}

// awaitDue waits until the given time and reports whether it arrived before ctx ended.
func (c *churn) awaitDue(ctx context.Context, due int64) bool {
	timer := time.NewTimer(time.Duration(due - c.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return c.clock.Now() >= due
	}
}

// record counts a finished connection that was due at the given time.
func (c *churn) record(err error, due int64, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.window.Holds(due)
	if in {
		c.startedInWindow++
	}
	if in && behind {
		c.results.Behind++
	}
	if err != nil {
		kind := "churn " + churnKind(err)
		c.failures.Add(kind, 1, "a short connection: %v", err)
		return
	}
	c.sent.Add(1)
	if in {
		c.results.Done++
		c.duration.Record(c.clock.Now() - due)
	} else if due < c.window.From.Load() {
		c.warmConnections++
	}
}

var errWrongEcho = errors.New("wrong echo")

func churnKind(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errWrongEcho):
		return errWrongEcho.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no free local port"
	case errors.Is(err, syscall.EMFILE):
		return "too many open files"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return "failed"
}

// runOne runs connection i.
func (c *churn) runOne(i int) error {
	conn, err := c.dial("tcp", c.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	// only fails on a closed connection
	conn.SetDeadline(time.Now().Add(churnTimeout)) //nolint:errcheck
	// the sending goroutine -> this one; one result, received below
	sent := make(chan error, 1)
	go func() { sent <- c.send(conn, i) }()
	err = c.receive(conn, i)
	return errors.Join(<-sent, err)
}

func (c *churn) send(conn net.Conn, i int) error {
	for offset := 0; offset < c.size; {
		text := c.payload.at(i, int64(offset), c.size-offset)
		if _, err := conn.Write(text); err != nil {
			return err
		}
		offset += len(text)
	}
	return conn.(interface{ CloseWrite() error }).CloseWrite()
}

func (c *churn) receive(conn net.Conn, i int) error {
	if !c.echo {
		_, err := io.Copy(io.Discard, conn)
		return err
	}
	buffer := make([]byte, 4096)
	for offset := 0; ; {
		n, err := conn.Read(buffer)
		if n > c.size-offset || !bytes.Equal(buffer[:n], c.payload.at(i, int64(offset), n)) {
			return errWrongEcho
		}
		offset += n
		if err == io.EOF {
			if offset < c.size {
				return errWrongEcho
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

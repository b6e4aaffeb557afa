package load

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

	"weir/lab/load/internal/raw"
	"weir/lab/load/internal/tally"
)

const (
	churnWorkers = 64              // short connections under way at once
	churnTimeout = 5 * time.Second // for one of them
)

// churn makes connections at a constant rate, each of which sends one message, half-closes, reads
// to the end (comparing, where echoes are checked) and closes. Each of its goroutines takes the
// next number, waits for that connection's time and carries it out; when all are busy, the next
// begins late and is counted as behind, and none is left out: what was due and never begun is
// behind too. stop ends them.
type churn struct {
	churnPlan
	addr    string
	payload *payload
	size    int
	echo    bool
	clock   raw.Clock
	window  *tally.Window
	cancel  context.CancelFunc
	workers sync.WaitGroup
	next    atomic.Int64
	sent    atomic.Int64 // goroutines -> anybody: connections that went well

	mu       sync.Mutex // guards what follows
	begun    int64      // of the window's connections
	warm     int64      // that went well and were due before the window
	report   ChurnReport
	duration tally.Distribution
	fails    tally.Failures
}

// churnPlan says when each short connection is due.
type churnPlan struct {
	start  int64   // ns; the first connection
	period float64 // ns
}

func (p *churnPlan) due(i int64) int64 { return p.start + int64(float64(i)*p.period) }

// number is how many connections are due before the given time.
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

// run starts the goroutines, which end when ctx does or stop is called.
func (c *churn) run(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	c.duration = tally.NewDistribution()
	for range churnWorkers {
		c.workers.Go(func() { c.work(ctx) })
	}
}

// stop waits for the connections under way and says what became of those that were due in the
// window, which lay between the given times; both are 0 if it never began.
func (c *churn) stop(from, to int64) (ChurnReport, tally.Failures) {
	c.cancel()
	c.workers.Wait()
	r := &c.report
	r.Offered = max(c.number(to)-c.number(from), c.begun)
	r.Behind += r.Offered - c.begun
	r.DurationUS = c.duration.Percentiles()
	return *r, c.fails
}

func (c *churn) work(ctx context.Context) {
	for ctx.Err() == nil {
		i := c.next.Add(1) - 1
		due := c.due(i)
		behind := c.clock.Now() > due
		if !c.await(ctx, due) {
			return
		}
		c.note(c.once(int(i)), due, behind)
	}
}

// await waits for the given time and says whether it has come before ctx was done.
func (c *churn) await(ctx context.Context, due int64) bool {
	timer := time.NewTimer(time.Duration(due - c.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return c.clock.Now() >= due
	}
}

// note counts a connection that was due at the given time and is over.
func (c *churn) note(err error, due int64, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.window.Holds(due)
	if in {
		c.begun++
	}
	if in && behind {
		c.report.Behind++
	}
	if err != nil {
		kind := "churn " + churnKind(err)
		c.fails.Add(kind, 1, "a short connection: %v", err)
		return
	}
	c.sent.Add(1)
	if in {
		c.report.Done++
		c.duration.Record(c.clock.Now() - due)
	} else if due < c.window.From.Load() {
		c.warm++
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

// once carries out connection i.
func (c *churn) once(i int) error {
	conn, err := (&net.Dialer{Timeout: churnTimeout, KeepAlive: -1}).Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(churnTimeout)) //nolint:errcheck // only fails on a closed connection
	// the sending goroutine -> this one; one result, taken below
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
	return conn.(*net.TCPConn).CloseWrite()
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

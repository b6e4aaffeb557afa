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
)

const (
	churnWorkers = 64              // short connections under way at once
	churnTimeout = 5 * time.Second // for one of them
)

// churn makes connections at a constant rate, each of which sends one message, half-closes, reads to the
// end (comparing, where echoes are checked) and closes. Each of its goroutines takes the next number,
// waits for that connection's time and carries it out; when all are busy, the next begins late and is
// counted as behind, and none is left out. stop ends them.
type churn struct {
	addr    string
	period  float64 // ns
	payload *payload
	size    int
	echo    bool
	start   time.Time
	cancel  context.CancelFunc
	workers sync.WaitGroup
	next    atomic.Int64

	mu       sync.Mutex // guards what follows
	report   ChurnReport
	duration distribution
	fails    failures
}

func startChurn(ctx context.Context, addr string, rate float64, p *payload, size int, echo bool) *churn {
	ctx, cancel := context.WithCancel(ctx)
	c := &churn{addr: addr, period: 1e9 / rate, payload: p, size: size, echo: echo, start: time.Now(), cancel: cancel, duration: newDistribution()}
	for range churnWorkers {
		c.workers.Go(func() { c.work(ctx) })
	}
	return c
}

// stop waits for the connections under way and says what became of all.
func (c *churn) stop() (*ChurnReport, failures) {
	c.cancel()
	c.workers.Wait()
	c.report.DurationUS = c.duration.percentiles()
	return &c.report, c.fails
}

func (c *churn) work(ctx context.Context) {
	for {
		i := c.next.Add(1) - 1
		due := c.start.Add(time.Duration(float64(i) * c.period))
		wait := time.Until(due)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		err := c.once(int(i))
		c.note(err, time.Since(due), wait < 0)
	}
}

func (c *churn) note(err error, took time.Duration, behind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Offered++
	if behind {
		c.report.Behind++
	}
	if err != nil {
		kind := "churn " + churnKind(err)
		c.fails.add(kind, 1, "a short connection: %v", err)
		return
	}
	c.report.Done++
	c.duration.record(int64(took))
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
	sent := make(chan error, 1)                    // the sending goroutine -> this one; one result, taken below
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

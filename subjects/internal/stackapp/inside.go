package stackapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The operations of a measurement inside.
const (
	Connect = "connect" // dial, send 4,096 bytes, CloseWrite, wait for the end of stream, close
	Bulk    = "bulk"    // send as fast as possible to the discard service
	RR      = "rr"      // 1 byte to the echo service and back, one at a time
)

const (
	connectBytes = 4096
	bulkMessage  = 64 << 10 // bytes that count as one message
	dialTimeout  = 10 * time.Second
)

// InsideConfig configures a measurement inside. It is not modified.
type InsideConfig struct {
	Operation   string        // Connect, Bulk or RR
	Connections int           // concurrent connections, 1 to 10,000
	Duration    time.Duration // of the window
	Warm        time.Duration // warm-up before the window; 0: a quarter of Duration, at most 1 s
}

func (c InsideConfig) check() error {
	switch {
	case !slices.Contains([]string{Connect, Bulk, RR}, c.Operation):
		return fmt.Errorf("--inside must be connect, bulk or rr, not %q", c.Operation)
	case c.Connections < 1 || c.Connections > 10_000:
		return fmt.Errorf("--connections must be from 1 to 10000, not %d", c.Connections)
	case c.Duration < time.Millisecond || c.Duration > time.Hour || c.Warm < 0 || c.Warm > time.Hour:
		return fmt.Errorf("--duration must be from 1ms to 1h and --warm from 0 to 1h, not %v and %v", c.Duration, c.Warm)
	}
	return nil
}

// inside is one measurement.
type inside struct {
	InsideConfig
	stack     Stack
	startedAt time.Time
	// the controller -> workers: start and end of the window in ns since startedAt; 0 before it is
	// known
	from    atomic.Int64
	to      atomic.Int64
	workers []*worker

	mu     sync.Mutex
	errors map[string]int64 // guarded by mu until the workers have ended

	cpu, window, warm time.Duration
	bytes, warmBytes  int64
}

// worker is one client. Its goroutine owns it.
type worker struct {
	*inside
	times histogram // of the window
	warm  int64     // operations before the window
}

// Inside measures s between two ends inside this process, and returns when all its goroutines have
// ended. It starts the services of Serve. Operations that fail are in the report; ctx ends the
// measurement early, with the results so far.
func Inside(ctx context.Context, c InsideConfig, s Stack) (Report, error) {
	if err := c.check(); err != nil {
		return Report{}, err
	}
	if s.Dial == nil {
		return Report{}, errors.New("this stack has no inside: nothing can dial it from within")
	}
	if c.Warm == 0 {
		c.Warm = min(c.Duration/4, time.Second)
	}
	services, err := Serve(s)
	if err != nil {
		return Report{}, err
	}
	defer services.Close()
	i := &inside{InsideConfig: c, stack: s, startedAt: time.Now(), errors: map[string]int64{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	for range c.Connections {
		w := &worker{inside: i}
		i.workers = append(i.workers, w)
		clients.Go(func() { w.run(ctx) }) // until the context ends
	}
	i.measure(ctx, services)
	stop()
	clients.Wait()
	return i.report(), nil
}

// measure waits for the warm-up and the window, and reads what the whole process used in the
// window.
func (i *inside) measure(ctx context.Context, services *Services) {
	wait(ctx, i.Warm)
	from, cpu, bytes := time.Since(i.startedAt), processCPU(), services.discarded.Load()
	i.from.Store(int64(from))
	wait(ctx, i.Duration)
	to := time.Since(i.startedAt)
	i.to.Store(int64(to))
	i.cpu, i.bytes, i.warmBytes = processCPU()-cpu, services.discarded.Load()-bytes, bytes
	i.warm, i.window = from, to-from
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// done counts a successful operation that started at the given time.
func (w *worker) done(began time.Time) {
	now := time.Now()
	at := int64(now.Sub(w.startedAt))
	from, to := w.from.Load(), w.to.Load()
	switch {
	case from == 0 || at < from:
		w.warm++
	case to == 0 || at < to:
		w.times.record(now.Sub(began))
	}
}

// run repeats the operation until ctx ends. A failed operation is tried again after retryDelay.
func (w *worker) run(ctx context.Context) {
	operation := map[string]func(context.Context) error{Connect: w.connect, Bulk: w.bulk, RR: w.rr}[w.Operation]
	for ctx.Err() == nil {
		if err := operation(ctx); err != nil && ctx.Err() == nil {
			w.mu.Lock()
			w.errors[reason(err)]++
			w.mu.Unlock()
			wait(ctx, retryDelay)
		}
	}
}

// reason returns an error's text without addresses, which differ each time.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// dial connects to a service. The connection is closed when ctx ends, or by release.
func (w *worker) dial(ctx context.Context, port int) (c net.Conn, release func(), err error) {
	within, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if c, err = w.stack.Dial(within, port); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() }) //nolint:errcheck // nothing is lost
	return c, func() { stop(); c.Close() }, nil          //nolint:errcheck // nothing is lost
}

// connect runs one Connect operation.
func (w *worker) connect(ctx context.Context) error {
	began := time.Now()
	c, release, err := w.dial(ctx, Discard)
	if err != nil {
		return err
	}
	defer release()
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return errors.New("the connection has no CloseWrite")
	}
	if _, err := c.Write(sourceBlock[:connectBytes]); err != nil {
		return err
	}
	if err := half.CloseWrite(); err != nil {
		return err
	}
	var one [1]byte
	if n, err := c.Read(one[:]); n > 0 || err != io.EOF {
		return fmt.Errorf("no end of stream: %d bytes, %w", n, err)
	}
	c.Close() //nolint:errcheck // closed twice, by release
	w.done(began)
	return nil
}

// bulk sends until ctx ends.
func (w *worker) bulk(ctx context.Context) error {
	c, release, err := w.dial(ctx, Discard)
	if err != nil {
		return err
	}
	defer release()
	for {
		if _, err := c.Write(sourceBlock); err != nil {
			return err
		}
	}
}

// rr sends one byte at a time until ctx ends.
func (w *worker) rr(ctx context.Context) error {
	c, release, err := w.dial(ctx, Echo)
	if err != nil {
		return err
	}
	defer release()
	noDelay(c)
	one := []byte{'x'}
	for {
		began := time.Now()
		if _, err := c.Write(one); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, one); err != nil {
			return err
		}
		w.done(began)
	}
}

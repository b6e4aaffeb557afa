package tcpip

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/serve"
	"weir/tcpip/link"
)

// fickle is a link of two queues that delivers each frame to either of them, whatever its flow.
type fickle struct {
	link.Link
	queues [2]*fickleQueue
	once   sync.Once
	over   chan struct{} // closed by Close
	done   sync.WaitGroup
}

type fickleQueue struct {
	link.Queue
	f     *fickle
	come  chan link.Frame // deal -> the queue's reader; never closed
	woken chan struct{}   // Wake -> the reader; capacity 1, never closed
}

func newFickle(l link.Link) *fickle {
	f := &fickle{Link: l, over: make(chan struct{})}
	for i := range f.queues {
		f.queues[i] = &fickleQueue{l.Queue(0), f, make(chan link.Frame, 1024), make(chan struct{}, 1)}
	}
	f.done.Go(f.deal) // until Close
	return f
}

func (f *fickle) deal() {
	batch := make([]link.Frame, 8)
	for turn := 0; ; turn++ {
		n, err := f.Link.Queue(0).Read(batch, -1)
		if err != nil {
			return
		}
		for _, frame := range batch[:n] {
			frame.Bytes = slices.Clone(frame.Bytes)
			select {
			case f.queues[turn%2].come <- frame:
			default: // full, as a device's
			}
		}
	}
}

func (f *fickle) Caps() link.Caps {
	c := f.Link.Caps()
	c.Queues = len(f.queues)
	return c
}

func (f *fickle) Queue(i int) link.Queue { return f.queues[i] }

func (f *fickle) Close() error {
	f.once.Do(func() { close(f.over) })
	err := f.Link.Close()
	f.done.Wait()
	return err
}

func (q *fickleQueue) Wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Read returns one frame, and overwrites the bytes of the one before, which is no longer the
// reader's.
func (q *fickleQueue) Read(batch []link.Frame, wait time.Duration) (int, error) {
	clear(batch[0].Bytes)
	var late <-chan time.Time
	if wait >= 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		late = t.C
	}
	select {
	case batch[0] = <-q.come:
		return 1, nil
	case <-q.woken:
	case <-late:
	case <-q.f.over:
		return 0, net.ErrClosed
	}
	return 0, nil
}

// Segments of a connection that arrive in another reader's queue are processed, without a data
// race.
func TestSegmentsOfAnotherQueueReachTheirConnection(t *testing.T) {
	la, lb := link.Pair(link.PairConfig{})
	a := measured(t, Config{Link: newFickle(la), Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	b := measured(t, Config{Link: newFickle(lb), Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	if _, err := b.Serve(":7", serve.Service{Open: func(serve.Conn) serve.Session { return echo{} }}, serve.Options{}); err != nil {
		t.Fatal(err)
	}
	l, err := b.Listen("tcp", ":8")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.Copy(c, c) //nolint:errcheck // the other end tells
	}()
	said := bytes.Repeat([]byte("whatever the way "), 30_000)
	for _, port := range []string{"7", "8"} {
		c := dial(t, a, "tcp", "10.0.0.2:"+port)
		go func() {
			c.Write(said)          //nolint:errcheck // the reader tells
			c.(*Conn).CloseWrite() //nolint:errcheck // the test checks its effect
		}()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, said) {
			t.Errorf("port %s: got %d bytes back, error %v; want the %d bytes that were sent", port, len(got), err, len(said))
		}
	}
}

package tcpip

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/serve"
	"weir/tcpip/link"
)

// echoLoop is a server of one goroutine: it echoes what its connections send, until its queue is
// closed.
type echoLoop struct {
	queue   *ReadyQueue
	pending map[*Conn][]byte // what a connection had no room for
	ended   map[*Conn]bool   // its peer has sent everything
}

func (e *echoLoop) run(t *testing.T) {
	events := make([]ReadyEvent, 8)
	for {
		n, err := e.queue.Wait(t.Context(), events)
		for _, event := range events[:n] {
			switch s := event.Source.(type) {
			case *Listener:
				e.accept(t, s)
			case *Conn:
				if event.Token != s {
					t.Errorf("got the token %v, want the connection", event.Token)
				}
				e.echo(t, s)
			}
		}
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("Wait: got %v, want net.ErrClosed", err)
			}
			return
		}
	}
}

func (e *echoLoop) accept(t *testing.T, l *Listener) {
	for {
		c, err := l.TryAccept()
		if err != nil {
			if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, net.ErrClosed) {
				t.Errorf("TryAccept: got %v, want EAGAIN or net.ErrClosed", err)
			}
			return
		}
		if err := e.queue.Add(c, c); err != nil {
			t.Error(err)
		}
	}
}

// echo sends what is pending, and then what arrives, until neither is possible.
func (e *echoLoop) echo(t *testing.T, c *Conn) {
	p := make([]byte, 3000)
	for {
		n, err := c.TryWrite(e.pending[c])
		e.pending[c] = e.pending[c][n:]
		switch {
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			t.Errorf("TryWrite: %v", err)
			return
		case e.ended[c]:
			delete(e.pending, c)
			c.Close() //nolint:errcheck // it is open
			return
		}
		n, err = c.TryRead(p)
		e.pending[c] = bytes.Clone(p[:n])
		if e.ended[c] = err == io.EOF; err != nil && err != io.EOF {
			if err != syscall.EAGAIN {
				t.Errorf("TryRead: got %v, want EAGAIN itself", err)
			}
			return
		}
	}
}

// One goroutine serves many connections, and no event is lost, by both concurrency models of the
// receive path.
func TestAnEventLoopServesManyConnections(t *testing.T) {
	for _, run := range []Run{RunChain, RunNetwork} {
		la, lb := link.Pair(link.PairConfig{})
		client, server := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24"), Run: run}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24"), Run: run})
		loop := &echoLoop{NewReadyQueue(), map[*Conn][]byte{}, map[*Conn]bool{}}
		l := listen(t, server, ":7")
		if err := loop.queue.Add(l.(*Listener), nil); err != nil {
			t.Fatal(err)
		}
		var all, clients sync.WaitGroup
		all.Go(func() { loop.run(t) }) // until its queue is closed
		for seed := range uint64(30) {
			clients.Go(func() { checkEcho(t, client, rand.New(rand.NewPCG(seed, 0))) })
		}
		clients.Wait()
		loop.queue.Close() //nolint:errcheck // it is open
		all.Wait()
	}
}

// checkEcho sends up to 1 MB in pieces, and checks that it comes back.
func checkEcho(t *testing.T, s *Stack, chance *rand.Rand) {
	c, err := s.Dial("tcp", "10.0.0.2:7")
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	text := make([]byte, chance.IntN(1<<20))
	for i := range text {
		text[i] = byte(chance.Uint32())
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		for left := text; len(left) > 0; {
			n := min(len(left), 1+chance.IntN(50_000))
			if _, err := c.Write(left[:n]); err != nil {
				t.Error(err)
			}
			left = left[n:]
		}
		c.(*Conn).CloseWrite() //nolint:errcheck // ReadAll sees it
	})
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, text) {
		t.Errorf("got %d bytes, %v; want the %d that were sent", len(got), err, len(text))
	}
	sending.Wait()
}

func TestReadyQueueReportsEachChange(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		q, events := NewReadyQueue(), make([]ReadyEvent, 4)
		next := func() (r Readiness) {
			synctest.Wait()
			n, err := q.take(events)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events[:n] {
				r |= e.Ready
			}
			return r
		}
		expect := func(what string, want Readiness) {
			t.Helper()
			if got := next(); got != want {
				t.Errorf("%s: got readiness %b, want %b", what, got, want)
			}
		}
		if err := q.Add(b, "b"); err != nil {
			t.Fatal(err)
		}
		if err := q.Add(b, "again"); !errors.Is(err, errQueued) {
			t.Errorf("adding it twice: got %v, want an error that says so", err)
		}
		expect("at first", ReadReady|WriteReady)
		expect("then", 0)
		if _, err := b.TryRead(make([]byte, 9)); err != syscall.EAGAIN {
			t.Errorf("TryRead without data: got %v, want EAGAIN itself", err)
		}
		a.Write([]byte("x")) //nolint:errcheck // the queue reports it
		expect("data", ReadReady)
		for {
			if _, err := b.TryWrite(make([]byte, 1<<20)); err == syscall.EAGAIN {
				break
			}
		}
		go io.Copy(io.Discard, a) //nolint:errcheck // until b is closed
		expect("room again", WriteReady)
		a.CloseWrite() //nolint:errcheck // the queue reports it
		if got := next(); got&ReadReady == 0 {
			t.Errorf("the end of the stream: got readiness %b, want it ready to read", got)
		}
		q.Remove(b)
		a.Close() //nolint:errcheck // the queue must not report it
		expect("after Remove", 0)
		if err := q.Add(b, nil); err != nil {
			t.Fatal(err)
		}
		next()
		b.Close() //nolint:errcheck // the queue reports it
		expect("Close", ReadReady|WriteReady)
		if err := q.Add(b, nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("adding a closed connection: got %v, want net.ErrClosed", err)
		}
	})
}

// Wait ends with its context, and all its calls when the queue is closed.
func TestWaitEndsWithItsContextAndItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewReadyQueue()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Wait(ctx, make([]ReadyEvent, 1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				if _, err := q.Wait(t.Context(), make([]ReadyEvent, 1)); !errors.Is(err, net.ErrClosed) {
					t.Errorf("got %v, want net.ErrClosed", err)
				}
			})
		}
		synctest.Wait()
		q.Close() //nolint:errcheck // it is open
		waiting.Wait()
	})
}

func TestReadyQueueHasUDPSockets(t *testing.T) {
	a, b := hosts(t, link.PairConfig{})
	pc, err := b.ListenPacket("udp", ":9")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	u, q, events := pc.(*UDPConn), NewReadyQueue(), make([]ReadyEvent, 4)
	if err := q.Add(u, 7); err != nil {
		t.Fatal(err)
	}
	q.take(events) //nolint:errcheck // the first event
	if _, _, err := u.TryRead(make([]byte, 9)); err != syscall.EAGAIN {
		t.Errorf("TryRead without a datagram: got %v, want EAGAIN itself", err)
	}
	c := dial(t, a, "udp", b.Addrs()[0].Addr().String()+":9")
	c.Write([]byte("hello")) //nolint:errcheck // TryRead sees it
	n, err := q.Wait(t.Context(), events)
	if n != 1 || events[0].Token != 7 || events[0].Ready != ReadReady || err != nil {
		t.Fatalf("got %+v, %v; want the socket ready to read", events[:n], err)
	}
	p := make([]byte, 9)
	if n, from, err := u.TryRead(p); string(p[:n]) != "hello" || from.String() != c.LocalAddr().String() || err != nil {
		t.Errorf("got %q from %v, %v; want %q from %v", p[:n], from, err, "hello", c.LocalAddr())
	}
}

// Writing nothing does not wait for room: no event follows.
func TestAnEmptyWriteCausesNoEvent(t *testing.T) {
	joined(t, func(t *testing.T, a, _ *Conn, _ func()) {
		q, events := NewReadyQueue(), make([]ReadyEvent, 4)
		if err := q.Add(a, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		q.take(events) //nolint:errcheck // the first event: all is possible
		if n, err := a.TryWrite(nil); n != 0 || err != nil {
			t.Errorf("writing nothing: got %d bytes and %v, want neither", n, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n, err := q.take(events); n != 0 || err != nil {
			t.Errorf("after writing nothing: got %d events and %v, want none", n, err)
		}
	})
}

// A source belongs to one queue, which alone removes it, or to a session.
func TestASourceHasOneOwner(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		one, two := NewReadyQueue(), NewReadyQueue()
		if err := one.Add(a, nil); err != nil {
			t.Fatal(err)
		}
		two.Remove(a)
		if err := two.Add(a, nil); !errors.Is(err, errQueued) {
			t.Errorf("Add to a second queue: got %v, want %v", err, errQueued)
		}
		one.Remove(a)
		if err := two.Add(a, nil); err != nil {
			t.Errorf("Add after Remove: got %v, want no error", err)
		}
		if err := b.Serve(b.s.NewServer(serve.Options{}), func(serve.Conn) serve.Session { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := one.Add(b, nil); !errors.Is(err, errHasOwner) {
			t.Errorf("Add of a connection with a session: got %v, want %v", err, errHasOwner)
		}
	})
}

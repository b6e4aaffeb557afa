package serve

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// suite lists what every concurrency model promises, in each form of a service.
var suite = []struct {
	name    string
	service string
	drain   time.Duration // 0: long
	check   func(t *testing.T, r *running, w Way)
}{
	{"what is echoed is what was sent, in order, on each of 16 connections", "echo", 0, echoesIntact},
	{"a half-closed connection gets all its bytes and then the end", "echo", 0, halfCloses},
	{"a reset ends its connection and no other", "echo", 0, survivesReset},
	{"a peer that does not read is not read", "echo", 0, backsPressure},
	{"many connections are open at once", "echo", 0, holdsMany},
	{"a wait delays its own connection, and nothing is lost meanwhile", "late", 0, waits},
	{"a panic ends its connection and no other", "echo", 0, containsPanic},
	{"a Goexit ends its connection and no other", "echo", 0, containsGoexit},
	{"a stop handles what has arrived", "late", 0, drains},
	{"a stop does not wait for a wait, and what was read before it is handled", "asleep", 0, drains},
	{"a peer that does not take what a session has for it can be shut out in time", "impatient", 0, letsGo},
	{"a peer that does not take what a session has left it is let go", "parting", 0, letsGo},
	{"a stop does not wait for a peer that never stops sending", "echo", 300 * time.Millisecond, stopsBusy},
	{"a session answers after the end of its input", "count", 0, answersAfterTheEnd},
	{"a connection on which nothing passes is ended when it has been idle for too long", "idle", 0, endsIdle},
	{"what a session has written arrives, though its peer's input is unread when it ends", "answer", 0, answersInFull},
	{"what a session has written arrives, though its peer's input is unread when it closes", "answer-close", 0, answersInFull},
	{"what a session has written before a stop arrives, though its peer goes on sending", "answer-stop", 0, answersBeforeStop},
}

func TestEveryModelConforms(t *testing.T) {
	openPoller(t)
	for i, trait := range Ways {
		for _, f := range []form{sessions, handlers, responders} {
			if trait.LinuxOnly && !onLinux || f == sessions && !trait.RunsSessions {
				continue
			}
			t.Run(trait.Name+"/"+string(f), func(t *testing.T) { conform(t, Way(i), f) })
		}
	}
}

func conform(t *testing.T, w Way, f form) {
	for _, c := range suite {
		before := descriptors(t)
		o := Options{OnPanic: func(PanicError) {}, DrainTimeout: c.drain}
		switch w {
		case Loop, Coroutine:
			o.Loops = 2
		case Prefork:
			o.Workers = 2
		}
		t.Run(c.name, func(t *testing.T) { c.check(t, startService(t, w, f, services[c.service], o), w) })
		eventually(t, "all descriptors closed", func() bool { return descriptors(t) <= before })
	}
}

// openPoller makes the runtime open the descriptors that it opens with the first socket and keeps.
func openPoller(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// descriptors counts the open descriptors of this process; 0 where /proc does not show them.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

func (r *running) stopsCleanly() {
	r.t.Helper()
	if err := r.stop(); err != nil {
		r.t.Errorf("Run returned %v, want nil after a stop", err)
	}
}

// exchange sends text and expects it back.
func exchange(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("sending: got error %v, want none", err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("sent %q: got %q, error %v; want the same text", text, got, err)
	}
}

// noise returns n letters that seed determines.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte('a' + r.IntN(26))
	}
	return p
}

func echoesIntact(t *testing.T, r *running, _ Way) {
	var all sync.WaitGroup
	for i := range 16 {
		c := r.dial()
		all.Go(func() {
			text := noise(uint64(i), 300_000)
			go func() {
				cut := rand.New(rand.NewPCG(uint64(i), 1))
				for rest := text; len(rest) > 0; {
					n := min(len(rest), 1+cut.IntN(9000))
					c.Write(rest[:n])
					rest = rest[n:]
				}
				c.CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("connection %d: got %d bytes back, equal: %v, error %v; want the %d bytes that were sent", i, len(got), bytes.Equal(got, text), err, len(text))
			}
		})
	}
	all.Wait()
	r.stopsCleanly()
}

func halfCloses(t *testing.T, r *running, _ Way) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 3 * 4096, 200_000} {
		c := r.dial()
		text := noise(1, n)
		go func() { c.Write(text); c.CloseWrite() }()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes and a half-close: got %d bytes back, error %v; want the same bytes", n, len(got), err)
		}
	}
	r.stopsCleanly()
}

func survivesReset(t *testing.T, r *running, _ Way) {
	stays := r.dial()
	exchange(t, stays, "before")
	for range 5 {
		c := r.dial()
		exchange(t, c, "x")
		c.SetLinger(0)
		io.WriteString(c, "lost")
		c.Close()
	}
	exchange(t, stays, "after")
	r.stopsCleanly()
}

func backsPressure(t *testing.T, r *running, _ Way) {
	c := r.dial()
	part, sent := noise(2, 1<<16), 0
	for {
		c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := c.Write(part)
		sent += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil || sent > 256<<20 {
			t.Fatalf("the server read %d bytes from a peer that does not read, error %v; want backpressure within 256 MiB", sent, err)
		}
	}
	exchangeElsewhere := r.dial()
	exchange(t, exchangeElsewhere, "not held up")
	c.CloseWrite()
	got, err := io.ReadAll(c)
	if err != nil || len(got) != sent {
		t.Fatalf("got %d bytes back, error %v; want the %d bytes that were sent", len(got), err, sent)
	}
	for i := range got {
		if got[i] != part[i%len(part)] {
			t.Fatalf("byte %d: got %#x, want %#x as sent", i, got[i], part[i%len(part)])
		}
	}
	r.stopsCleanly()
}

func holdsMany(t *testing.T, r *running, w Way) {
	n := 200
	if w == Process {
		n = 20
	}
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = r.dial()
	}
	for range 2 {
		for _, c := range conns {
			exchange(t, c, "here")
		}
	}
	if s := r.meter.Snapshot(); !Ways[w].MultiProcess && s.Open != int64(n) {
		t.Errorf("got %d connections counted as open, want %d", s.Open, n)
	}
	r.stopsCleanly()
}

func waits(t *testing.T, r *running, _ Way) {
	c := r.dial()
	began := time.Now()
	text := string(noise(3, 4096*3))
	exchange(t, c, text)
	if took := time.Since(began); took < 3*echoDelay {
		t.Errorf("three reads that each wait %v took %v, want at least %v", echoDelay, took, 3*echoDelay)
	}
	r.stopsCleanly()
}

func containsPanic(t *testing.T, r *running, w Way)  { contains(t, r, w, panicWord) }
func containsGoexit(t *testing.T, r *running, w Way) { contains(t, r, w, exitWord) }

func contains(t *testing.T, r *running, w Way, word []byte) {
	stays := r.dial()
	exchange(t, stays, "before")
	const times = 3
	for range times {
		c := r.dial()
		exchange(t, c, "x")
		c.Write(word)
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %s: read %d, %v, want the end", word, n, err)
		}
	}
	exchange(t, stays, "after")
	if !Ways[w].MultiProcess {
		eventually(t, "three panics counted", func() bool { return r.meter.Snapshot().Panics == times })
	}
	r.stopsCleanly()
}

func drains(t *testing.T, r *running, _ Way) {
	c := r.dial()
	exchange(t, c, "accepted")
	text := noise(4, 10_000)
	c.Write(text)
	stopped := make(chan error)
	go func() { stopped <- r.stop() }()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, text) {
		t.Errorf("bytes that arrived before the stop: got %d back, error %v; want %d", len(got), err, len(text))
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run returned %v, want nil after a stop", err)
	}
	if c, err := net.Dial("tcp", r.addr); err == nil {
		c.Close()
		t.Error("a connection was accepted after the stop, want it refused")
	}
}

// letsGo sends a request and never reads. The server reads nothing meanwhile, so that further
// writes fail only when the connection has been closed.
func letsGo(t *testing.T, r *running, _ Way) {
	c := r.dial()
	for {
		if _, err := c.Write([]byte("?")); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the connection of a peer that does not read is still open, want it closed")
		} else if err != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	r.stopsCleanly()
}

func stopsBusy(t *testing.T, r *running, _ Way) {
	var all sync.WaitGroup
	began := make(chan struct{}, 8)
	for range 8 {
		c := r.dial()
		all.Go(func() { io.Copy(io.Discard, c) })
		all.Go(func() {
			for part, i := noise(5, 1<<14), 0; ; i++ {
				if _, err := c.Write(part); err != nil {
					return
				}
				if i == 10 {
					began <- struct{}{}
				}
			}
		})
	}
	for range 8 {
		<-began
	}
	r.stop() // drained, or at the deadline: either is a stop
	all.Wait()
}

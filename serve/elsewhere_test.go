package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// reachedHandler is a handler's connection that the test holds, and how the call under way ended.
type reachedHandler struct {
	conn  net.Conn
	ended chan error // capacity 1: the result of the call that blocks
}

// blockingIn returns a service whose handlers make one call that blocks, and pass their connection
// to the test before it.
func blockingIn(call func(net.Conn) error) (service, chan reachedHandler) {
	opened := make(chan reachedHandler, 16)
	return service{handle: func(c net.Conn) {
		r := reachedHandler{conn: c, ended: make(chan error, 1)}
		opened <- r
		r.ended <- call(c)
	}}, opened
}

func readOne(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }

// writeMuch writes more than the kernel takes for a peer that does not read.
func writeMuch(c net.Conn) error { _, err := c.Write(make([]byte, 64<<20)); return err }

func TestADeadlineSetElsewhereEndsTheCallThatBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(net.Conn) error
		set  func(net.Conn, time.Time) error
	}{
		{"Read, SetReadDeadline", readOne, net.Conn.SetReadDeadline},
		{"Read, SetDeadline", readOne, net.Conn.SetDeadline},
		{"Write, SetWriteDeadline", writeMuch, net.Conn.SetWriteDeadline},
		{"Write, SetDeadline", writeMuch, net.Conn.SetDeadline},
	} {
		eachModel(t, func(t *testing.T, w Way) {
			for _, after := range []time.Duration{-time.Second, 2 * time.Millisecond} {
				s, opened := blockingIn(c.call)
				r := startService(t, w, handlers, s, Options{})
				r.dialSoon()
				h := receive(t, opened, "the handler's connection")
				c.set(h.conn, time.Now().Add(tooLong))
				time.Sleep(time.Millisecond) // either side of the start of the call is right
				c.set(h.conn, time.Now().Add(after))
				if err := receive(t, h.ended, "the end of the call"); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s in %v: got %v, want os.ErrDeadlineExceeded", c.name, after, err)
				}
				r.stopsCleanly()
			}
		})
	}
}

func TestADeadlineTakenAwayElsewhereLetsTheReadGoOn(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		set := make(chan struct{}) // closed by the handler
		s, opened := blockingIn(func(c net.Conn) error {
			c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			close(set)
			return readOne(c)
		})
		r := startService(t, w, handlers, s, Options{})
		peer := r.dialSoon()
		began := time.Now()
		h := receive(t, opened, "the handler's connection")
		receive(t, set, "the deadline")
		h.conn.SetReadDeadline(time.Time{})
		tookAway := time.Since(began)
		time.Sleep(150 * time.Millisecond)
		peer.Write([]byte("x"))
		// on a machine that stood still, the deadline may have come first
		if err := receive(t, h.ended, "the end of the read"); err != nil && tookAway < 50*time.Millisecond {
			t.Errorf("the deadline was taken away: got %v, want the byte that came later", err)
		}
		r.stopsCleanly()
	})
}

// TestAHandlerThatOutlivesItsConnectionSeesTheEnd: the loop discards what arrives after the close,
// while the handler, which was off the loop, goes on.
func TestAHandlerThatOutlivesItsConnectionSeesTheEnd(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		goOn := make(chan struct{}) // closed by the test
		s, opened := blockingIn(func(c net.Conn) error {
			OffLoop(c, func() {
				c.Write([]byte("x")) // output makes the close linger
				<-goOn
			})
			_, tried := TryRead(c, make([]byte, 1))
			return errors.Join(tried, readOne(c))
		})
		r := startService(t, w, handlers, s, Options{})
		peer := r.dialSoon()
		h := receive(t, opened, "the handler's connection")
		peer.Read(make([]byte, 1))
		h.conn.Close()
		for range 5 {
			peer.Write([]byte("too late"))
			time.Sleep(2 * time.Millisecond)
		}
		close(goOn)
		if err := receive(t, h.ended, "the end of the reads"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want net.ErrClosed", err)
		}
		r.stopsCleanly()
	})
}

// TestClosesFromAllSidesHarmNoOtherConnection closes connections from two goroutines, from their
// handler and by the peer at once, while descriptors are reused for new connections.
func TestClosesFromAllSidesHarmNoOtherConnection(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		opened := make(chan net.Conn, 8*50) // all that are ever opened
		s := service{handle: func(c net.Conn) {
			opened <- c
			buf := make([]byte, 64)
			for n := 0; n < 3; n++ {
				got, err := c.Read(buf)
				if err != nil {
					break
				}
				OffLoop(c, func() { c.Write(buf[:got]) })
			}
			c.Close()
		}}
		r := startService(t, w, handlers, s, Options{})
		var closers, clients sync.WaitGroup
		for range 2 {
			closers.Go(func() {
				for c := range opened {
					c.SetReadDeadline(time.Now().Add(time.Millisecond))
					c.LocalAddr()
					c.Close()
					c.SetDeadline(time.Time{})
					c.LocalAddr()
				}
			})
		}
		for i := range 8 {
			clients.Go(func() {
				text := bytes.Repeat([]byte{byte('a' + i)}, 32)
				for range 50 {
					c := r.dialSoon()
					c.Write(text)
					got, err := io.ReadAll(c)
					if len(got) > 0 && !bytes.HasPrefix(text, got) || errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("sent %q: got %q, %v, want a part of it and the end", text, got, err)
					}
					c.Close()
				}
			})
		}
		clients.Wait()
		r.stopsCleanly()
		close(opened)
		closers.Wait()
	})
}

// TestOffLoopTheOtherWaitsWork: code off the loop need not know that it is.
func TestOffLoopTheOtherWaitsWork(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		r := startService(t, w, handlers, service{handle: func(c net.Conn) {
			OffLoop(c, func() {
				var calls []byte
				OffLoop(c, func() { calls = append(calls, 'o') })
				if err := Sleep(c, time.Millisecond); err == nil {
					calls = append(calls, 's')
				}
				if err := Await(c, func() { calls = append(calls, 'a') }); err == nil {
					calls = append(calls, '!')
				}
				c.Write(calls)
			})
			c.Write([]byte(" back"))
		}}, Options{})
		if got, err := io.ReadAll(r.dialSoon()); string(got) != "osa! back" || err != nil {
			t.Errorf("OffLoop, Sleep and Await off the loop: got %q, %v, want %q", got, err, "osa! back")
		}
		r.stopsCleanly()
	})
}

func TestAStopEndsASleepOffTheLoop(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		s, opened := blockingIn(func(c net.Conn) (err error) {
			OffLoop(c, func() { err = Sleep(c, tooLong) })
			return err
		})
		r := startService(t, w, handlers, s, Options{})
		r.dialSoon()
		h := receive(t, opened, "the handler's connection")
		r.stopsCleanly()
		if err := receive(t, h.ended, "the end of the sleep"); !errors.Is(err, ErrStopped) {
			t.Errorf("Sleep off the loop got %v at a stop, want ErrStopped", err)
		}
	})
}

// TestAGoroutineThatOutlivesItsWorkOffTheLoopReadsNothing of what belongs to the handler by then.
func TestAGoroutineThatOutlivesItsWorkOffTheLoopReadsNothing(t *testing.T) {
	if !onLinux {
		t.Skip("only an event loop can tell")
	}
	strayed := make(chan error, 1)
	r := startService(t, Coroutine, handlers, service{handle: func(c net.Conn) {
		OffLoop(c, func() {
			reading := make(chan struct{})
			go func() {
				close(reading)
				_, err := c.Read(make([]byte, 8))
				strayed <- err
			}()
			<-reading
		})
		echoTo(c, 0)
	}}, Options{})
	c := r.dialSoon()
	if err := receive(t, strayed, "the end of the stray read"); err == nil {
		t.Error("a read that has outlived OffLoop got nil, want an error")
	}
	exchange(t, c, "for the handler")
	r.stopsCleanly()
}

// TestAHandlerGoesOnWhenItsConnectionIsClosedOffTheLoop: it may use all of its connection, which
// fails, and it may go off the loop again.
func TestAHandlerGoesOnWhenItsConnectionIsClosedOffTheLoop(t *testing.T) {
	for name, misbehave := range map[string]func(){
		"returns": func() {}, "panics": func() { panic("requested by the test") }, "calls Goexit": runtime.Goexit,
	} {
		eachModel(t, func(t *testing.T, w Way) {
			entered, release, done := make(chan net.Conn), make(chan struct{}), make(chan struct{})
			r := startService(t, w, handlers, service{handle: func(c net.Conn) {
				defer close(done)
				OffLoop(c, func() { entered <- c; <-release })
				for range 2 {
					OffLoop(c, func() { time.Sleep(time.Millisecond) })
					c.SetDeadline(time.Now().Add(time.Hour))
					c.LocalAddr()
					_, readErr := c.Read(make([]byte, 1))
					_, writeErr := c.Write([]byte("x"))
					if readErr == nil || writeErr == nil {
						t.Errorf("a closed connection: Read returned %v, Write %v, want errors", readErr, writeErr)
					}
					// in other models Await takes no notice of its connection
					if Ways[w].NeedsDescriptor {
						if err := Sleep(c, tooLong); err == nil {
							t.Error("Sleep on a closed connection returned nil, want an error")
						}
						if err := Await(c, func() {}); err == nil {
							t.Error("Await on a closed connection returned nil, want an error")
						}
					}
				}
				OffLoop(c, misbehave)
			}}, Options{OnPanic: func(PanicError) {}, LingerTimeout: time.Millisecond})
			peer := r.dialSoon()
			receive(t, entered, "the connection").Close()
			io.Copy(io.Discard, peer) // the connection has ended while its handler goes on
			peer.Close()
			close(release)
			receive(t, done, name+": the end of the handler")
			r.stopsCleanly()
		})
	}
}

// TestAHandlerThatIsClosedMayGoOffTheLoop, and does not hold the loop meanwhile.
func TestAHandlerThatIsClosedMayGoOffTheLoop(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		entered, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		r := startService(t, w, handlers, service{handle: func(c net.Conn) {
			if err := readOne(c); err != nil {
				return
			}
			c.Close()
			OffLoop(c, func() { close(entered); <-release })
			close(done)
		}}, Options{})
		c := r.dialSoon()
		c.Write([]byte("x"))
		receive(t, entered, "the work off the loop")
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("closed by its handler, which works on: the peer got %v, want the end", err)
		}
		close(release)
		receive(t, done, "the end of the handler")
		r.stopsCleanly()
	})
}

// TestTLSMayBeClosedElsewhere: Close of a tls.Conn writes an alert if it can, and always closes.
func TestTLSMayBeClosedElsewhere(t *testing.T) {
	config, err := testTLS()
	if err != nil {
		t.Fatal(err)
	}
	eachModel(t, func(t *testing.T, w Way) {
		entered, ended := make(chan net.Conn, 1), make(chan error, 1)
		r := startService(t, w, handlers, service{handle: func(c net.Conn) {
			s := tls.Server(c, config)
			if err := s.Handshake(); err != nil {
				ended <- err
				return
			}
			entered <- s
			ended <- readOne(s)
		}}, Options{})
		c := tls.Client(r.dialSoon(), &tls.Config{InsecureSkipVerify: true})
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
		s := receive(t, entered, "the connection")
		time.Sleep(time.Millisecond) // most of the time the handler reads by then
		s.Close()
		if err := receive(t, ended, "the end of the read"); err == nil {
			t.Error("a read of a TLS connection that was closed elsewhere returned nil, want an error")
		}
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the client got %v, want the end", err)
		}
		r.stopsCleanly()
	})
}

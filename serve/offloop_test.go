package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// offLoopAndEcho is echoTo off the event loop: one goroutine reads, another one writes.
func offLoopAndEcho(c net.Conn) {
	OffLoop(c, func() {
		received := make(chan []byte) // from the reader, which closes it
		var reading sync.WaitGroup
		reading.Go(func() {
			defer close(received)
			for {
				buf := make([]byte, 4096)
				n, err := c.Read(buf)
				if err != nil {
					return
				}
				received <- buf[:n]
			}
		})
		defer reading.Wait()
		defer c.SetReadDeadline(time.Unix(1, 0)) // ends the reader after a failed write or a panic
		for p := range received {
			misbehave(p)
			if _, err := c.Write(p); err != nil {
				go func() {
					for range received {
					}
				}()
				return
			}
		}
	})
}

// TestOffLoopAHandlerUsesItsConnectionFromAnyGoroutine, and the promises of every model hold.
func TestOffLoopAHandlerUsesItsConnectionFromAnyGoroutine(t *testing.T) {
	off := service{name: "off", handle: offLoopAndEcho}
	eachModel(t, func(t *testing.T, w Way) {
		for name, check := range map[string]func(*testing.T, *running, Way){
			"echo": echoesIntact, "half-close": halfCloses, "reset": survivesReset, "backpressure": backsPressure, "panic": containsPanic,
		} {
			before := descriptors(t)
			t.Run(name, func(t *testing.T) {
				check(t, startService(t, w, handlers, off, Options{OnPanic: func(PanicError) {}, DrainTimeout: time.Second}), w)
			})
			eventually(t, "all descriptors closed", func() bool { return descriptors(t) <= before })
		}
	})
}

// TestOffLoopWorkAlternatesWithOtherWork: deadlines, and bytes that arrive meanwhile, are kept.
func TestOffLoopWorkAlternatesWithOtherWork(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		r := startService(t, w, handlers, service{handle: func(c net.Conn) {
			for {
				buf := make([]byte, 3)
				if _, err := io.ReadFull(c, buf); err != nil {
					return
				}
				OffLoop(c, func() { _, err := io.ReadFull(c, buf[1:]); _ = err })
				c.Write(buf)
			}
		}}, Options{})
		c := r.dialSoon()
		for range 100 {
			io.WriteString(c, "abcde")
			got := make([]byte, 3)
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "ade" {
				t.Fatalf("got %q, error %v; want ade", got, err)
			}
		}
	})
}

// TestOffLoopADeadlineEndsAReadUnderWay, also one that another goroutine sets.
func TestOffLoopADeadlineEndsAReadUnderWay(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		ended := make(chan error, 1) // the error of the read
		r := startService(t, w, handlers, service{handle: func(c net.Conn) {
			OffLoop(c, func() {
				go func() {
					time.Sleep(time.Millisecond)
					c.SetReadDeadline(time.Unix(1, 0))
				}()
				_, err := c.Read(make([]byte, 1))
				ended <- err
			})
		}}, Options{})
		r.dial()
		if err := receive(t, ended, "the error of the read"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got error %v, want %v", err, os.ErrDeadlineExceeded)
		}
	})
}

// TestAnyGoroutineMayCloseAHandlersConnection: a call of the handler that waits then fails, on the
// event loop and off it, and the peer sees the end.
func TestAnyGoroutineMayCloseAHandlersConnection(t *testing.T) {
	for name, wait := range map[string]func(net.Conn) error{
		"read": func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"write": func(c net.Conn) (err error) {
			for err == nil {
				_, err = c.Write(make([]byte, 1<<20))
			}
			return err
		},
		"sleep": func(c net.Conn) error {
			if err := Sleep(c, tooLong); err != nil {
				return net.ErrClosed // some models return another error
			}
			return nil
		},
		"read off the loop": func(c net.Conn) (err error) {
			OffLoop(c, func() { _, err = c.Read(make([]byte, 1)) })
			return err
		},
		"write off the loop": func(c net.Conn) (err error) {
			OffLoop(c, func() {
				for err == nil {
					_, err = c.Write(make([]byte, 1<<20))
				}
			})
			return err
		},
	} {
		eachModel(t, func(t *testing.T, w Way) {
			entered, ended := make(chan net.Conn), make(chan error, 1)
			r := startService(t, w, handlers, service{handle: func(c net.Conn) {
				entered <- c
				ended <- wait(c)
			}}, Options{})
			peer := r.dialSoon()
			c := receive(t, entered, "the connection")
			// most of the time it waits by then; either way it must end
			time.Sleep(time.Millisecond)
			if err := c.Close(); err != nil {
				t.Errorf("%s: Close: got error %v, want none", name, err)
			}
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: a second Close: got error %v, want %v", name, err, net.ErrClosed)
			}
			if err := receive(t, ended, "the end of the wait"); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: got error %v, want %v", name, err, net.ErrClosed)
			}
			if _, err := io.Copy(io.Discard, peer); err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s: the peer got error %v, want the end of the connection", name, err)
			}
			r.stopsCleanly()
		})
	}
}

// TestAStopWaitsForWorkOffTheLoop until Options.DrainTimeout. Work that lasts longer is left alone,
// and its handler can end later.
func TestAStopWaitsForWorkOffTheLoop(t *testing.T) {
	eachModel(t, func(t *testing.T, w Way) {
		for name, drain := range map[string]time.Duration{"in time": tooLong, "too late": 10 * time.Millisecond} {
			entered, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			r := startService(t, w, handlers, service{handle: func(c net.Conn) {
				OffLoop(c, func() { close(entered); <-release })
				_, err := io.WriteString(c, "late")
				ended <- err
			}}, Options{DrainTimeout: drain})
			c := r.dialSoon()
			receive(t, entered, "the start of the work")
			late := drain != tooLong
			if !late {
				time.AfterFunc(10*time.Millisecond, func() { close(release) })
			}
			if err := r.stop(); late != errors.Is(err, ErrDeadline) {
				t.Errorf("%s: Run returned %v, want ErrDeadline exactly if the work lasts longer than the drain", name, err)
			}
			if late {
				close(release)
			}
			if err := receive(t, ended, "the end of the handler"); late != (err != nil) {
				t.Errorf("%s: the handler's write: got error %v, want one exactly if it is late", name, err)
			}
			if got, _ := io.ReadAll(c); late != (string(got) == "") {
				t.Errorf("%s: the peer got %q, want %q only in time", name, got, "late")
			}
		}
	})
}

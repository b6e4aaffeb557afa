package serve

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// inProcess lists the models whose sessions a test can reach.
var inProcess = []Way{Goroutine, Pool, Loop, Coroutine}

func eachInProcess(t *testing.T, f func(t *testing.T, w Way)) {
	for _, w := range inProcess {
		if !Ways[w].LinuxOnly || onLinux {
			t.Run(w.String(), func(t *testing.T) { f(t, w) })
		}
	}
}

// reachedSession is an echo session whose Conn the test holds.
type reachedSession struct {
	echo
	conn   Conn
	closed chan error // capacity 1: Close is called once
}

func (r *reachedSession) Close(err error) { r.closed <- err }

// reachableService returns a service that passes each session to the test.
func reachableService() (service, chan *reachedSession) {
	opened := make(chan *reachedSession, 16)
	return service{open: func(c Conn) Session {
		r := &reachedSession{conn: c, closed: make(chan error, 1)}
		opened <- r
		return r
	}}, opened
}

func TestConcurrentSendsAreNotMixed(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{})
		c := r.dial()
		session := <-opened
		var senders sync.WaitGroup
		for i := range 8 {
			senders.Go(func() {
				line := append(bytes.Repeat([]byte{byte('a' + i)}, 99), '\n')
				for range 200 {
					for !session.conn.Send(line) {
						// the queue is full; it empties because the peer reads
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		got := make([]byte, 8*200*100)
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatal(err)
		}
		senders.Wait()
		for line := range bytes.SplitSeq(bytes.TrimSuffix(got, []byte("\n")), []byte("\n")) {
			if len(line) != 99 || strings.Trim(string(line), string(line[:1])) != "" {
				t.Fatalf("got the line %q of two sends, want each line from one Send", line)
			}
		}
		r.stopsCleanly()
	})
}

func TestSendToAPeerThatDoesNotReadIsRefused(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{SendQueue: 10_000, DrainTimeout: 100 * time.Millisecond})
		c := r.dial()
		session := <-opened
		line, sent := make([]byte, 1000), 0
		for session.conn.Send(line) {
			if sent += len(line); sent > 256<<20 {
				t.Fatalf("Send accepted %d bytes for a peer that does not read, want false at the limit of SendQueue", sent)
			}
		}
		if n := r.meter.Snapshot().SendsRefused; n != 1 {
			t.Errorf("got %d refused sends counted, want 1", n)
		}
		if n, err := io.CopyN(io.Discard, c, int64(sent)); err != nil {
			t.Errorf("got %d bytes, error %v; want the %d bytes that Send accepted", n, err, sent)
		}
		eventually(t, "room in the queue again", func() bool { return session.conn.Send(line) })
	})
}

func TestCloseFromAnotherGoroutineEndsTheSession(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{})
		c := r.dial()
		session := <-opened
		exchange(t, c, "up")
		session.conn.Close()
		if err := <-session.closed; !errors.Is(err, ErrClosed) {
			t.Errorf("Close received %v, want ErrClosed", err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("the peer read %d, %v, want the end", n, err)
		}
		if session.conn.Send([]byte("late")) {
			t.Error("Send returned true for a closed connection, want false")
		}
		session.conn.Post()
		r.stopsCleanly()
	})
}

func TestCloseReceivesTheReason(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{})
		for _, c := range []struct {
			end  func(net.Conn)
			want func(error) bool
		}{
			{func(c net.Conn) { c.Close() }, func(err error) bool { return err == io.EOF }},
			{func(c net.Conn) { c.Write(panicWord) }, func(err error) bool { return errors.As(err, new(*PanicError)) }},
			{func(net.Conn) { go r.stop() }, func(err error) bool { return err == ErrStopped }},
		} {
			conn := r.dial()
			session := <-opened
			exchange(t, conn, "up")
			c.end(conn)
			if err := <-session.closed; !c.want(err) {
				t.Errorf("Close received %v, want the reason of the end", err)
			}
		}
	})
}

func TestWakesWithoutInput(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		r := startService(t, w, sessions, services["beat"], Options{})
		if got, err := io.ReadAll(r.dial()); string(got) != "....." || err != nil {
			t.Errorf("five beats 5 ms apart: got %q, error %v; want %q", got, err, ".....")
		}
		r.stopsCleanly()
	})
}

func TestAwaitReturnsToItsHandler(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		if !Ways[w].RunsHandlers {
			t.Skip("has no handlers")
		}
		r := startService(t, w, handlers, services["await"], Options{})
		c := r.dial()
		for range 20 {
			exchange(t, c, "over and back")
		}
		r.stopsCleanly()
	})
}

func TestAReadDeadlineEndsAHandlersRead(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		if !Ways[w].RunsHandlers {
			t.Skip("has no handlers")
		}
		reader := service{handle: func(c net.Conn) {
			for {
				c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				n, err := c.Read(make([]byte, 10))
				var late net.Error
				if n == 0 && errors.As(err, &late) && late.Timeout() {
					c.Write([]byte("late"))
					return
				}
			}
		}}
		r := startService(t, w, handlers, reader, Options{})
		if got, err := io.ReadAll(r.dial()); string(got) != "late" || err != nil {
			t.Errorf("a read with a deadline: got %q, error %v; want %q", got, err, "late")
		}
		r.stopsCleanly()
	})
}

func TestDrainEndsAtItsDeadline(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		s, opened := reachableService()
		r := startService(t, w, sessions, s, Options{DrainTimeout: 50 * time.Millisecond})
		c := r.dial()
		session := <-opened
		// more than the kernel takes for a peer that does not read
		if !session.conn.Send(make([]byte, 64<<20)) {
			t.Error("Send returned false with an empty queue, want true")
		}
		if err := r.stop(); !errors.Is(err, ErrDeadline) {
			t.Errorf("a peer does not read: Run returned %v, want ErrDeadline", err)
		}
		c.Close()
	})
}

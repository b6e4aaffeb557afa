package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// numberer answers each line with its number. The number and the unfinished line are its state.
type numberer struct {
	conn       Conn
	lines      uint64
	unfinished []byte
	stays      bool          // Move returns false
	moveCalls  *atomic.Int32 // counts the calls of Move; nil: not counted
	closed     func(error)
}

func (s *numberer) Input(in []byte, out *Writer) error {
	for line := range bytes.SplitAfterSeq(in, []byte("\n")) {
		if s.unfinished = append(s.unfinished, line...); !bytes.HasSuffix(s.unfinished, []byte("\n")) {
			continue
		}
		s.lines++
		answer := fmt.Sprintf("%d:%s", s.lines, s.unfinished)
		s.unfinished = s.unfinished[:0]
		if answer == "1:much\n" {
			answer = strings.Repeat("much", much/4)
		}
		out.WriteString(answer)
	}
	return nil
}

func (s *numberer) Wake(time.Time, *Writer) error { return nil }

func (s *numberer) Close(err error) {
	if s.closed != nil {
		s.closed(err)
	}
}

func (s *numberer) Move(out *Writer) ([]byte, bool) {
	if s.moveCalls != nil {
		s.moveCalls.Add(1)
	}
	if s.stays {
		out.WriteString("this is not sent")
		return nil, false
	}
	out.WriteString("moved\n")
	return append(binary.BigEndian.AppendUint64(nil, s.lines), s.unfinished...), true
}

func adoptNumberer(c Conn, state []byte) Session {
	return &numberer{conn: c, lines: binary.BigEndian.Uint64(state), unfinished: bytes.Clone(state[8:])}
}

// handoverRig is a listener, and connections that move from run to run.
type handoverRig struct {
	t     *testing.T
	l     *net.TCPListener
	open  func(Conn) Session
	addr  string
	moved []MovedConn
	meter *Meter
}

func newHandoverRig(t *testing.T) *handoverRig {
	s := &handoverRig{t: t, l: listen(t).(*net.TCPListener), open: func(c Conn) Session { return &numberer{conn: c} }}
	s.addr = s.l.Addr().String()
	t.Cleanup(func() {
		s.l.Close()
		for _, m := range s.moved {
			m.Close()
		}
	})
	return s
}

// start starts a run. The returned function ends it by a handover and keeps the moved connections
// for the next run.
func (s *handoverRig) start(w Way, o Options) (end func() error) {
	s.t.Helper()
	file, err := s.l.File()
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := net.FileListener(file)
	file.Close()
	if err != nil {
		s.t.Fatal(err)
	}
	o.Adopt, s.moved, s.meter = s.moved, nil, new(Meter)
	o.Meter = s.meter
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 20 * time.Second
	}
	if o.Loops == 0 {
		o.Loops = 2
	}
	var mu sync.Mutex
	o.OnMove = func(m MovedConn) { mu.Lock(); s.moved = append(s.moved, m); mu.Unlock() }
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() {
		result <- Run(ctx, w, l, Service{Open: s.open, Adopt: adoptNumberer, State: InProcess}, o)
	}()
	return sync.OnceValue(func() error {
		cancel(ErrHandover)
		select {
		case err := <-result:
			return err
		case <-time.After(60 * time.Second):
			return errors.New("Run has not returned within 60 s of the handover, want it returned")
		}
	})
}

// handOver ends a run and checks how many connections were moved.
func (s *handoverRig) handOver(end func() error, moved int) {
	s.t.Helper()
	if err := end(); err != nil || len(s.moved) != moved {
		s.t.Fatalf("Run returned %v, %d connections were moved; want %d", err, len(s.moved), moved)
	}
}

func (s *handoverRig) dial() *peer {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(60 * time.Second))
	s.t.Cleanup(func() { c.Close() })
	return &peer{t: s.t, TCPConn: c.(*net.TCPConn), lines: bufio.NewReader(c)}
}

// peer is a client.
type peer struct {
	*net.TCPConn
	t     *testing.T
	lines *bufio.Reader
}

func (p *peer) wantLine(want string) {
	p.t.Helper()
	if got, err := p.lines.ReadString('\n'); got != want+"\n" || err != nil {
		p.t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func (p *peer) send(text string) { io.WriteString(p, text) }

// eachPair calls f for each pair of models between which a connection may move.
func eachPair(t *testing.T, f func(t *testing.T, from, to Way)) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	for _, from := range inProcess {
		for _, to := range inProcess {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) { f(t, from, to) })
		}
	}
}

// A connection continues where it was: half a line is kept, unread bytes are read by the next run,
// and the last output of the session comes first.
func TestAConnectionIsHandedOver(t *testing.T) {
	before := descriptors(t)
	eachPair(t, func(t *testing.T, from, to Way) {
		s := newHandoverRig(t)
		end := s.start(from, Options{})
		c, idle := s.dial(), s.dial()
		idle.send("here\n")
		idle.wantLine("1:here")
		c.send("one\ntw")
		c.wantLine("1:one")
		s.handOver(end, 2)
		c.send("o\nthree\n")
		end = s.start(to, Options{})
		c.wantLine("moved")
		c.wantLine("2:two")
		c.wantLine("3:three")
		idle.send("still\n")
		idle.wantLine("moved")
		idle.wantLine("2:still")
		fresh := s.dial()
		fresh.send("accepted as before\n")
		fresh.wantLine("1:accepted as before")
		s.handOver(end, 2+1)
		if n := s.meter.Snapshot(); n.Accepted != 3 || n.Open != 0 {
			t.Errorf("got %d connections counted as accepted, %d open; want 3 (two adopted, one accepted) and none", n.Accepted, n.Open)
		}
	})
	eventually(t, "all descriptors closed", func() bool { return descriptors(t) <= before })
}

// Clients that never stop sending lose nothing, receive nothing twice, and receive all in order,
// while runs change.
func TestClientsTalkDuringHandovers(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	const talkers, changes = 30, 12
	s := newHandoverRig(t)
	end := s.start(Loop, Options{Loops: 2})
	var talking sync.WaitGroup
	stop, spoken := make(chan struct{}), make(chan int, talkers)
	for i := range talkers {
		c := s.dial()
		talking.Go(func() { spoken <- c.talk(i, stop) })
	}
	for i := range changes {
		for m := s.meter; m.Snapshot().Reads < 20; {
			time.Sleep(time.Millisecond) // so that each run serves some requests
		}
		if i == 0 { // all clients must be connected
			eventually(t, "all talkers", func() bool { return s.meter.Snapshot().Open == talkers })
		}
		s.handOver(end, talkers)
		end = s.start(inProcess[i%len(inProcess)], Options{})
	}
	close(stop)
	talking.Wait()
	for range talkers {
		if n := <-spoken; n < changes {
			t.Errorf("a talker sent %d lines, want at least %d: one per handover", n, changes)
		}
	}
	end()
}

// talk sends lines, several at a time, and checks the answers, until it is stopped.
func (p *peer) talk(name int, stop chan struct{}) (answered int) {
	for said := 0; ; {
		var text strings.Builder
		for range 5 {
			said++
			fmt.Fprintf(&text, "line %d of %d\n", said, name)
		}
		p.send(text.String())
		for answered < said {
			line, err := p.lines.ReadString('\n')
			if line == "moved\n" {
				continue
			}
			if answered++; line != fmt.Sprintf("%d:line %d of %d\n", answered, answered, name) || err != nil {
				p.t.Errorf("talker %d: got the answer %q, error %v; want number %d", name, line, err, answered)
				return answered
			}
		}
		select {
		case <-stop:
			return answered
		default:
		}
	}
}

// Output that a slow peer has not taken moves with its connection.
func TestQueuedOutputIsHandedOver(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to Way) {
		s := newHandoverRig(t)
		opened := make(chan Conn, 1) // session's owner -> test
		s.open = func(c Conn) Session { opened <- c; return &numberer{conn: c} }
		end := s.start(from, Options{})
		c := s.dial()
		c.send("much\n")
		conn := <-opened
		if !CanMove(conn) {
			t.Error("CanMove returned false for a connection with a descriptor, want true")
		}
		eventually(t, "output that waits", func() bool { return waitsFor(conn) })
		c.send("and more\n")
		s.handOver(end, 1)
		end = s.start(to, Options{})
		got := make([]byte, much)
		if _, err := io.ReadFull(c.lines, got); err != nil || !bytes.Equal(got, bytes.Repeat([]byte("much"), much/4)) {
			t.Fatalf("the output that waited at the handover: got error %v or other bytes, want the same %d bytes", err, much)
		}
		c.wantLine("moved")
		c.wantLine("2:and more")
		s.handOver(end, 1)
	})
}

// A connection that cannot be handed over ends as by a stop: input that has arrived is handled, and
// then Close receives ErrStopped.
func TestAConnectionThatStaysEndsAsByAStop(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	type immovable struct{ Session }
	for name, wrap := range map[string]func(*numberer) Session{
		"a session that refuses":       func(s *numberer) Session { s.stays = true; return s },
		"a session that cannot":        func(s *numberer) Session { return immovable{s} },
		"a session that panics at it":  func(s *numberer) Session { return panicking{s} },
		"a session that is closed now": func(s *numberer) Session { return s },
	} {
		eachInProcess(t, func(t *testing.T, w Way) {
			t.Run(name, func(t *testing.T) {
				s := newHandoverRig(t)
				closed := make(chan error, 1)
				asks := new(atomic.Int32)
				opened := make(chan Conn, 1) // session's owner -> test
				s.open = func(c Conn) Session {
					opened <- c
					return wrap(&numberer{conn: c, moveCalls: asks, closed: func(err error) { closed <- err }})
				}
				end := s.start(w, Options{OnPanic: func(PanicError) {}})
				c := s.dial()
				c.send("one\n")
				c.wantLine("1:one")
				want := ErrStopped
				if strings.HasSuffix(name, "now") {
					want = ErrClosed
					(<-opened).Close()
				}
				s.handOver(end, 0)
				if err := <-closed; err != want {
					t.Errorf("Close received %v, want %v", err, want)
				}
				if rest, err := io.ReadAll(c.lines); len(rest) > 0 || err != nil {
					t.Errorf("the peer got %q, %v; want the end", rest, err)
				}
				if asks.Load() > 1 {
					t.Errorf("Move was called %d times, want at most once", asks.Load())
				}
			})
		})
	}
}

// panicking panics in Move.
type panicking struct{ *numberer }

func (panicking) Move(*Writer) ([]byte, bool) { panic("requested by the test") }

// A connection without a descriptor is ended as by a stop.
func TestWithoutADescriptorNothingIsHandedOver(t *testing.T) {
	for _, w := range []Way{Goroutine, Pool} {
		closed := make(chan error, 1)
		opened := make(chan Conn, 1) // session's owner -> test
		s := Service{Open: func(c Conn) Session {
			opened <- c
			return &numberer{conn: c, closed: func(err error) { closed <- err }}
		}}
		ctx, cancel := context.WithCancelCause(context.Background())
		result := make(chan error, 1)
		l := listen(t)
		o := Options{OnMove: func(MovedConn) { t.Error("a connection was handed over, want none") }, DrainTimeout: 20 * time.Second}
		go func() { result <- Run(ctx, w, bareListener{l}, s, o) }()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		exchangeLine(t, c, "one\n", "1:one\n")
		cancel(ErrHandover)
		if err := <-result; onLinux && err != nil {
			t.Errorf("%s: Run returned %v, want nil after a handover", w, err)
		}
		if CanMove(<-opened) {
			t.Errorf("%s: CanMove returned true for a connection without a descriptor, want false", w)
		}
		if err := <-closed; err != ErrStopped {
			t.Errorf("%s: Close received %v, want ErrStopped", w, err)
		}
	}
}

func exchangeLine(t *testing.T, c net.Conn, said, want string) {
	t.Helper()
	io.WriteString(c, said)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

// A peer whose session has ended, and that does not take the output that is left, does not delay a
// handover.
func TestAHandoverDoesNotWaitForEndedSessions(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	eachInProcess(t, func(t *testing.T, w Way) {
		s := newHandoverRig(t)
		opened := make(chan Conn, 1) // session's owner -> test
		s.open = func(c Conn) Session { opened <- c; return parting{} }
		end := s.start(w, Options{FlushTimeout: tooLong, DrainTimeout: tooLong})
		s.dial().send("?")
		conn := <-opened
		eventually(t, "output that waits", func() bool { return waitsFor(conn) })
		s.handOver(end, 0)
	})
}

// A plain stop of a run that could hand over hands nothing over.
func TestAStopHandsNothingOver(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		if !onLinux {
			t.Skip("connections are handed over on Linux only")
		}
		s := service{open: func(c Conn) Session { return &numberer{conn: c} }}
		r := startService(t, w, sessions, s, Options{OnMove: func(MovedConn) { t.Error("a connection was handed over, want none") }})
		exchangeLine(t, r.dial(), "one\n", "1:one\n")
		r.stopsCleanly()
	})
}

func TestRunRejectsServicesThatItCannotHandOver(t *testing.T) {
	per := serviceForm{open: services["echo"].open, state: PerConnection}
	handler := serviceForm{handle: services["echo"].handle, state: PerConnection}
	keep := func(MovedConn) {}
	for _, c := range []struct {
		why  string
		way  Way
		work serviceForm
		o    Options
		want string
	}{
		{"pre-forked processes", Prefork, per, Options{OnMove: keep, ChildCommand: []string{"self"}}, "runs in one process"},
		{"a process for each", Process, per, Options{OnMove: keep, ChildCommand: []string{"self"}}, "runs in one process"},
		{"a handler", Goroutine, handler, Options{OnMove: keep}, "write a Session"},
		{"a service that does not adopt", Goroutine, per, Options{Adopt: []MovedConn{{FD: -1}}}, "Service.Adopt"},
	} {
		if Ways[c.way].LinuxOnly && !onLinux {
			continue
		}
		l := listen(t)
		err := c.way.reject(l, c.work, c.o)
		l.Close()
		want := c.want
		if !onLinux {
			want = "on Linux only"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a reason with %q", c.why, err, want)
		}
	}
}

// A run that is rejected, or ends at once, closes the connections that it was to adopt.
func TestARejectedRunClosesItsAdoptions(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	s := newHandoverRig(t)
	end := s.start(Goroutine, Options{})
	c := s.dial()
	c.send("one\n")
	c.wantLine("1:one")
	s.handOver(end, 1)
	if err := Run(t.Context(), Loop, listen(t), Service{Open: s.open}, Options{Adopt: s.moved}); err == nil {
		t.Error("a service that adopts no connections accepted Adopt, want an error")
	}
	s.moved = nil
	if rest, err := io.ReadAll(c.lines); len(rest) > 0 || err != nil {
		t.Errorf("the peer got %q, %v; want the end", rest, err)
	}
}

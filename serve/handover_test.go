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

// teller numbers the lines that it hears. Its number and half a line are its state.
type teller struct {
	conn   Conn
	told   uint64
	half   []byte
	stays  bool          // it does not move
	asks   *atomic.Int32 // counts the calls of Move; nil: nobody wants to know
	closed func(error)
}

func (s *teller) Input(in []byte, out *Writer) error {
	for line := range bytes.SplitAfterSeq(in, []byte("\n")) {
		if s.half = append(s.half, line...); !bytes.HasSuffix(s.half, []byte("\n")) {
			continue
		}
		s.told++
		answer := fmt.Sprintf("%d:%s", s.told, s.half)
		s.half = s.half[:0]
		if answer == "1:much\n" {
			answer = strings.Repeat("much", much/4)
		}
		out.WriteString(answer)
	}
	return nil
}

func (s *teller) Wake(time.Time, *Writer) error { return nil }

func (s *teller) Close(err error) {
	if s.closed != nil {
		s.closed(err)
	}
}

func (s *teller) Move(out *Writer) ([]byte, bool) {
	if s.asks != nil {
		s.asks.Add(1)
	}
	if s.stays {
		out.WriteString("this is not sent")
		return nil, false
	}
	out.WriteString("moved\n")
	return append(binary.BigEndian.AppendUint64(nil, s.told), s.half...), true
}

func adoptTeller(c Conn, state []byte) Session {
	return &teller{conn: c, told: binary.BigEndian.Uint64(state), half: bytes.Clone(state[8:])}
}

// stage is a listener and connections that go from run to run.
type stage struct {
	t     *testing.T
	l     *net.TCPListener
	open  func(Conn) Session
	addr  string
	moved []Moved
	meter *Meter
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, l: listen(t).(*net.TCPListener), open: func(c Conn) Session { return &teller{conn: c} }}
	s.addr = s.l.Addr().String()
	t.Cleanup(func() {
		s.l.Close()
		for _, m := range s.moved {
			m.Close()
		}
	})
	return s
}

// act runs until the returned function ends it by a hand-over, and keeps what was moved for the
// next act.
func (s *stage) act(w Way, o Options) (end func() error) {
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
	if o.Drain == 0 {
		o.Drain = 20 * time.Second
	}
	if o.Loops == 0 {
		o.Loops = 2
	}
	var mu sync.Mutex
	o.Moved = func(m Moved) { mu.Lock(); s.moved = append(s.moved, m); mu.Unlock() }
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() {
		result <- Run(ctx, w, l, Service{Open: s.open, Adopt: adoptTeller, State: InProcess}, o)
	}()
	return sync.OnceValue(func() error {
		cancel(ErrHandOver)
		select {
		case err := <-result:
			return err
		case <-time.After(60 * time.Second):
			return errors.New("Run does not return")
		}
	})
}

// ends ends an act and wants so many connections moved.
func (s *stage) ends(end func() error, moved int) {
	s.t.Helper()
	if err := end(); err != nil || len(s.moved) != moved {
		s.t.Fatalf("Run returned %v, %d connections were moved; want %d", err, len(s.moved), moved)
	}
}

func (s *stage) dial() *peer {
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

func (p *peer) hears(want string) {
	p.t.Helper()
	if got, err := p.lines.ReadString('\n'); got != want+"\n" || err != nil {
		p.t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func (p *peer) says(text string) { io.WriteString(p, text) }

// eachPair calls f for each pair of ways that a connection may go between.
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

// A connection goes on where it was: half a line is kept, bytes that nobody has read are read by
// the next run, and what the session says last comes first.
func TestAConnectionIsHandedOver(t *testing.T) {
	before := descriptors(t)
	eachPair(t, func(t *testing.T, from, to Way) {
		s := newStage(t)
		end := s.act(from, Options{})
		c, idle := s.dial(), s.dial()
		idle.says("here\n")
		idle.hears("1:here")
		c.says("one\ntw")
		c.hears("1:one")
		s.ends(end, 2)
		c.says("o\nthree\n")
		end = s.act(to, Options{})
		c.hears("moved")
		c.hears("2:two")
		c.hears("3:three")
		idle.says("still\n")
		idle.hears("moved")
		idle.hears("2:still")
		fresh := s.dial()
		fresh.says("accepted as before\n")
		fresh.hears("1:accepted as before")
		s.ends(end, 2+1)
		if n := s.meter.Snapshot(); n.Accepted != 3 || n.Open != 0 {
			t.Errorf("two were adopted and one accepted, all were moved: counted %d, open %d", n.Accepted, n.Open)
		}
	})
	eventually(t, "all descriptors closed", func() bool { return descriptors(t) <= before })
}

// Clients that never stop talking lose nothing, hear nothing twice, and all in order, while the run
// under them changes.
func TestManyTalkWhileTheyAreHandedOver(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	const talkers, changes = 30, 12
	s := newStage(t)
	end := s.act(Loop, Options{Loops: 2})
	var talking sync.WaitGroup
	stop, spoken := make(chan struct{}), make(chan int, talkers)
	for i := range talkers {
		c := s.dial()
		talking.Go(func() { spoken <- c.talk(i, stop) })
	}
	for i := range changes {
		for m := s.meter; m.Snapshot().Reads < 20; {
			time.Sleep(time.Millisecond) // so that each run serves some
		}
		if i == 0 { // all must have come
			eventually(t, "all talkers", func() bool { return s.meter.Snapshot().Open == talkers })
		}
		s.ends(end, talkers)
		end = s.act(inProcess[i%len(inProcess)], Options{})
	}
	close(stop)
	talking.Wait()
	for range talkers {
		if n := <-spoken; n < changes {
			t.Errorf("a talker said %d lines only", n)
		}
	}
	end()
}

// talk says lines, several at a time, and checks the answers, until it is stopped.
func (p *peer) talk(name int, stop chan struct{}) (told int) {
	for said := 0; ; {
		var text strings.Builder
		for range 5 {
			said++
			fmt.Fprintf(&text, "line %d of %d\n", said, name)
		}
		p.says(text.String())
		for told < said {
			line, err := p.lines.ReadString('\n')
			if line == "moved\n" {
				continue
			}
			if told++; line != fmt.Sprintf("%d:line %d of %d\n", told, told, name) || err != nil {
				p.t.Errorf("talker %d, answer %d: %q, %v", name, told, line, err)
				return told
			}
		}
		select {
		case <-stop:
			return told
		default:
		}
	}
}

// What a slow peer has not taken goes with its connection.
func TestWhatWaitsForASlowPeerIsHandedOver(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to Way) {
		s := newStage(t)
		opened := make(chan Conn, 1) // session's owner -> test
		s.open = func(c Conn) Session { opened <- c; return &teller{conn: c} }
		end := s.act(from, Options{})
		c := s.dial()
		c.says("much\n")
		conn := <-opened
		if !CanMove(conn) {
			t.Error("a connection with a descriptor cannot be moved")
		}
		eventually(t, "output that waits", func() bool { return waitsFor(conn) })
		c.says("and more\n")
		s.ends(end, 1)
		end = s.act(to, Options{})
		got := make([]byte, much)
		if _, err := io.ReadFull(c.lines, got); err != nil || !bytes.Equal(got, bytes.Repeat([]byte("much"), much/4)) {
			t.Fatalf("what waited is not what came: %v", err)
		}
		c.hears("moved")
		c.hears("2:and more")
		s.ends(end, 1)
	})
}

// Who cannot be handed over is ended as by a stop: what has arrived is handled, and then
// ErrStopped.
func TestWhoStaysIsEndedAsByAStop(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	type immovable struct{ Session }
	for name, wrap := range map[string]func(*teller) Session{
		"a session that refuses":       func(s *teller) Session { s.stays = true; return s },
		"a session that cannot":        func(s *teller) Session { return immovable{s} },
		"a session that panics at it":  func(s *teller) Session { return panicking{s} },
		"a session that is closed now": func(s *teller) Session { return s },
	} {
		eachInProcess(t, func(t *testing.T, w Way) {
			t.Run(name, func(t *testing.T) {
				s := newStage(t)
				closed := make(chan error, 1)
				asks := new(atomic.Int32)
				opened := make(chan Conn, 1) // session's owner -> test
				s.open = func(c Conn) Session {
					opened <- c
					return wrap(&teller{conn: c, asks: asks, closed: func(err error) { closed <- err }})
				}
				end := s.act(w, Options{Panicked: func(PanicError) {}})
				c := s.dial()
				c.says("one\n")
				c.hears("1:one")
				want := ErrStopped
				if strings.HasSuffix(name, "now") {
					want = ErrClosed
					(<-opened).Close()
				}
				s.ends(end, 0)
				if err := <-closed; err != want {
					t.Errorf("Close was told %v, want %v", err, want)
				}
				if rest, err := io.ReadAll(c.lines); len(rest) > 0 || err != nil {
					t.Errorf("the peer got %q, %v; want the end", rest, err)
				}
				if asks.Load() > 1 {
					t.Errorf("it was asked %d times", asks.Load())
				}
			})
		})
	}
}

// panicking panics when it is to move.
type panicking struct{ *teller }

func (panicking) Move(*Writer) ([]byte, bool) { panic("told to") }

// A connection without a descriptor is ended as by a stop.
func TestWithoutADescriptorNothingIsHandedOver(t *testing.T) {
	for _, w := range []Way{Goroutine, Pool} {
		closed := make(chan error, 1)
		opened := make(chan Conn, 1) // session's owner -> test
		s := Service{Open: func(c Conn) Session {
			opened <- c
			return &teller{conn: c, closed: func(err error) { closed <- err }}
		}}
		ctx, cancel := context.WithCancelCause(context.Background())
		result := make(chan error, 1)
		l := listen(t)
		o := Options{Moved: func(Moved) { t.Error("moved") }, Drain: 20 * time.Second}
		go func() { result <- Run(ctx, w, bareListener{l}, s, o) }()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		exchangeLine(t, c, "one\n", "1:one\n")
		cancel(ErrHandOver)
		if err := <-result; onLinux && err != nil {
			t.Errorf("%s: Run returned %v", w, err)
		}
		if CanMove(<-opened) {
			t.Errorf("%s: a connection without a descriptor can be moved", w)
		}
		if err := <-closed; err != ErrStopped {
			t.Errorf("%s: Close was told %v, want ErrStopped", w, err)
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

// A peer whose session has ended, and that takes none of what is left for it, does not hold up a
// hand-over.
func TestAHandOverDoesNotWaitForWhoHasEnded(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	eachInProcess(t, func(t *testing.T, w Way) {
		s := newStage(t)
		opened := make(chan Conn, 1) // session's owner -> test
		s.open = func(c Conn) Session { opened <- c; return parting{} }
		end := s.act(w, Options{Linger: tooLong, Drain: tooLong})
		s.dial().says("?")
		conn := <-opened
		eventually(t, "output that waits", func() bool { return waitsFor(conn) })
		s.ends(end, 0)
	})
}

// A plain stop of a run that could hand over does not.
func TestAStopHandsNothingOver(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		if !onLinux {
			t.Skip("connections are handed over on Linux only")
		}
		s := service{open: func(c Conn) Session { return &teller{conn: c} }}
		r := begin(t, w, sessions, s, Options{Moved: func(Moved) { t.Error("moved") }})
		exchangeLine(t, r.dial(), "one\n", "1:one\n")
		r.stopsCleanly()
	})
}

func TestRefusalsToHandOver(t *testing.T) {
	per := work{open: services["echo"].open, state: PerConnection}
	handler := work{handle: services["echo"].handle, state: PerConnection}
	keep := func(Moved) {}
	for _, c := range []struct {
		why  string
		way  Way
		work work
		o    Options
		want string
	}{
		{"pre-forked processes", Prefork, per, Options{Moved: keep, Child: []string{"self"}}, "does not split"},
		{"a process for each", Process, per, Options{Moved: keep, Child: []string{"self"}}, "does not split"},
		{"a handler", Goroutine, handler, Options{Moved: keep}, "write a Session"},
		{"a service that does not adopt", Goroutine, per, Options{Adopt: []Moved{{FD: -1}}}, "Service.Adopt"},
	} {
		if Ways[c.way].Linux && !onLinux {
			continue
		}
		l := listen(t)
		err := c.way.refuses(l, c.work, c.o)
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

// A run that is refused, or ends at once, gives up what it was to adopt.
func TestARefusedRunClosesWhatItWasToAdopt(t *testing.T) {
	if !onLinux {
		t.Skip("connections are handed over on Linux only")
	}
	s := newStage(t)
	end := s.act(Goroutine, Options{})
	c := s.dial()
	c.says("one\n")
	c.hears("1:one")
	s.ends(end, 1)
	if err := Run(t.Context(), Loop, listen(t), Service{Open: s.open}, Options{Adopt: s.moved}); err == nil {
		t.Error("connections were adopted by a service that adopts none")
	}
	s.moved = nil
	if rest, err := io.ReadAll(c.lines); len(rest) > 0 || err != nil {
		t.Errorf("the peer got %q, %v; want the end", rest, err)
	}
}

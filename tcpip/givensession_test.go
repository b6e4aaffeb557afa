package tcpip

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/serve"
	"weir/tcpip/link"
)

// looper is a session that returns what it takes, and keeps at most room bytes in between: a far
// end that is slower than the peer. It ends its output when the peer has ended its input.
type looper struct {
	c      serve.Conn
	room   int
	kept   []byte
	out    []byte // what Stream returned last
	ended  bool   // the peer has finished
	resets bool   // it resets the connection at the first byte
	closed chan error
	most   int // the largest number of pieces that Take got
}

func (s *looper) Take(pieces [][]byte) (n int, err error) {
	if s.resets {
		return 0, syscall.ECONNRESET
	}
	s.most = max(s.most, len(pieces))
	for _, p := range pieces {
		k := min(len(p), s.room-len(s.kept))
		s.kept = append(s.kept, p[:k]...)
		n += k
	}
	return n, nil
}

func (s *looper) Stream() ([]byte, error) {
	if len(s.kept) == 0 && s.ended {
		return nil, io.EOF
	}
	k := min(len(s.kept), 1000)
	s.out = append(s.out[:0], s.kept[:k]...)
	if s.kept = s.kept[k:]; k > 0 {
		s.c.Post() // there is room for input
	}
	return s.out, nil
}

func (s *looper) Input([]byte, *serve.Writer) error { return errors.ErrUnsupported }

func (s *looper) InputEnd(*serve.Writer) error {
	s.ended = true
	return nil
}

func (s *looper) Wake(time.Time, *serve.Writer) error { return nil }

func (s *looper) Close(err error) { s.closed <- err }

func newLooper(room int) *looper { return &looper{room: room, closed: make(chan error, 1)} }

func (s *looper) open(c serve.Conn) serve.Session {
	s.c = c
	return s
}

// loopedBy connects a client to s: by a request of a forwarder, or by a connection that exists.
func loopedBy(t *testing.T, how string, m link.Medium, s *looper) (*Conn, *Server) {
	t.Helper()
	var v *Server
	to := foreign[0]
	client, router := behind(t, m, Forwarder{TCP: func(r *TCPRequest) {
		if err := r.Serve(v, s.open); err != nil {
			t.Errorf("serving a request: got %v, want no error", err)
		}
	}})
	v = router.NewServer(serve.Options{})
	if how == "conn" {
		l, err := router.Listen("tcp", ":80")
		if err != nil {
			t.Fatal(err)
		}
		to = "10.0.0.2:80"
		go func() {
			c, err := l.Accept()
			if err == nil {
				err = c.(*Conn).Serve(v, s.open)
			}
			if err != nil {
				t.Errorf("serving a connection: got %v, want no error", err)
			}
		}()
	}
	return dial(t, client, "tcp", to).(*Conn), v
}

// given runs a test with both ways to give a connection to a session.
func given(t *testing.T, test func(t *testing.T, how string)) {
	for _, how := range []string{"request", "conn"} {
		t.Run(how, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, how) }) })
	}
}

// A Taker that takes little at a time gets every byte once and in order, while its own output goes
// on: the client reads only after it has written everything.
func TestATakerGetsAllOfItsInput(t *testing.T) {
	given(t, func(t *testing.T, how string) {
		for _, room := range []int{1, 1500, 1 << 20} {
			s := newLooper(room)
			c, _ := loopedBy(t, how, link.Ethernet, s)
			want := bytes.Repeat([]byte("weir "), min(10_000, 200*room))
			go func() {
				c.Write(want)  //nolint:errcheck // the echo shows it
				c.CloseWrite() //nolint:errcheck // as above
			}()
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
				t.Errorf("room for %d bytes: got %d bytes and %v, want the %d that were sent", room, len(got), err, len(want))
			}
			c.Close()
			if err := <-s.closed; err != io.EOF {
				t.Errorf("room for %d bytes: got the end %v, want EOF", room, err)
			}
		}
	})
}

// Segments of one batch come in one call.
func TestATakerGetsABatchAtOnce(t *testing.T) {
	s := newLooper(1 << 20)
	synctest.Test(t, func(t *testing.T) {
		c, _ := loopedBy(t, "request", link.IP, s)
		c.Write(make([]byte, 100_000)) //nolint:errcheck // the echo shows it
		io.CopyN(io.Discard, c, 100_000)
		c.Close()
	})
	if s.most < 2 || s.most > maxTaken {
		t.Errorf("got at most %d pieces at once, want several and at most %d", s.most, maxTaken)
	}
}

func TestASessionThatReturnsConnectionResetResets(t *testing.T) {
	given(t, func(t *testing.T, how string) {
		s := newLooper(1)
		s.resets = true
		c, _ := loopedBy(t, how, link.Ethernet, s)
		c.Write([]byte("x")) //nolint:errcheck // the read shows it
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want connection reset", err)
		}
		if err := <-s.closed; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the session got the end %v, want its own error", err)
		}
	})
}

// The output of a session ends by CloseWrite, and its input goes on.
func TestASessionEndsItsOutputAlone(t *testing.T) {
	given(t, func(t *testing.T, how string) {
		s := newLooper(1 << 20)
		c, _ := loopedBy(t, how, link.Ethernet, s)
		c.Write([]byte("before")) //nolint:errcheck // the read shows it
		got := make([]byte, 6)
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatal(err)
		}
		if err := s.c.(CloseWriter).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(got); n != 0 || err != io.EOF {
			t.Errorf("after CloseWrite: got %d bytes and %v, want EOF", n, err)
		}
		c.Write([]byte("after")) //nolint:errcheck // the session has it
		synctest.Wait()
		if !slices.Equal(s.kept, []byte("after")) {
			t.Errorf("after CloseWrite the session got %q, want %q", s.kept, "after")
		}
		c.Close()
	})
}

// outputEnder answers its first input, closes its output in the same call, and goes on reading.
type outputEnder struct {
	c   serve.Conn
	got []byte
}

func (s *outputEnder) Input(p []byte, w *serve.Writer) error {
	s.got = append(s.got, p...)
	w.Write([]byte("answer")) //nolint:errcheck // it does not fail
	return s.c.(CloseWriter).CloseWrite()
}

func (s *outputEnder) Wake(time.Time, *serve.Writer) error { return nil }

func (s *outputEnder) Close(error) {}

// The output of the call that closes it is sent, and later output does not stop the input.
func TestASessionAnswersAndClosesItsOutput(t *testing.T) {
	joined(t, func(t *testing.T, a, b *Conn, _ func()) {
		s := &outputEnder{}
		open := func(c serve.Conn) serve.Session { s.c = c; return s }
		if err := b.Serve(b.s.NewServer(serve.Options{}), open); err != nil {
			t.Fatal(err)
		}
		a.Write([]byte("one")) //nolint:errcheck // the answer shows it
		if got, err := io.ReadAll(a); string(got) != "answer" || err != nil {
			t.Errorf("got %q and %v, want the answer and the end", got, err)
		}
		for range 2 {
			a.Write([]byte("more")) //nolint:errcheck // the session has it
			synctest.Wait()
		}
		if string(s.got) != "onemoremore" || s.c.Send([]byte("late")) {
			t.Errorf("after CloseWrite the session got %q, want all input; and Send must refuse output", s.got)
		}
	})
}

func TestAnEndedServerTakesNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLooper(1)
		c, v := loopedBy(t, "conn", link.Ethernet, s)
		synctest.Wait()
		if err := v.Close(); err != nil || v.Addr() != nil {
			t.Errorf("closing a server without a listener: got %v and the address %v, want neither", err, v.Addr())
		}
		if err := <-s.closed; !errors.Is(err, serve.ErrStopped) {
			t.Errorf("the session got the end %v, want %v", err, serve.ErrStopped)
		}
		if err := c.Serve(v, s.open); !errors.Is(err, errOtherStack) {
			t.Errorf("serving by a server of another stack: got %v, want %v", err, errOtherStack)
		}
		own := c.s.NewServer(serve.Options{})
		own.Close() //nolint:errcheck // it has no listener
		if err := c.Serve(own, s.open); !errors.Is(err, serve.ErrStopped) {
			t.Errorf("serving by an ended server: got %v, want %v", err, serve.ErrStopped)
		}
		c.Close()
		if err := c.Serve(c.s.NewServer(serve.Options{}), s.open); !errors.Is(err, net.ErrClosed) {
			t.Errorf("serving a closed connection: got %v, want %v", err, net.ErrClosed)
		}
	})
}

// A connection whose handshake fails closes its session.
func TestAFailedHandshakeClosesTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLooper(1)
		var v *Server
		served := make(chan error, 1)
		client, router := behind(t, link.Ethernet, Forwarder{TCP: func(r *TCPRequest) {
			go func() {
				time.Sleep(time.Second) // the client has gone by then
				served <- r.Serve(v, s.open)
			}()
		}})
		v = router.NewServer(serve.Options{})
		go func() {
			time.Sleep(500 * time.Millisecond)
			client.Close()
		}()
		client.Dial("tcp", foreign[0]) //nolint:errcheck // it fails
		if err := <-served; err != nil {
			t.Fatal(err)
		}
		if err := <-s.closed; err == nil || err == io.EOF {
			t.Errorf("got the end %v, want an error", err)
		}
	})
}

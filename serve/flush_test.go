package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of in-memory connections, which have no file descriptor.
type pipes chan net.Conn // from the test to the accepting goroutine, capacity 1; closed by Close

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// Options.FlushTimeout limits how long the peer of an ended session takes none of its output, not
// how long it takes for all of it. This holds over TLS, too, where a Write that was cut short
// cannot be continued.
func TestAPeerThatTakesOutputSlowlyGetsAllOverTLS(t *testing.T) {
	site := httptest.NewTLSServer(nil) // for its certificate
	site.Close()
	config, client := &tls.Config{Certificates: site.TLS.Certificates}, &tls.Config{InsecureSkipVerify: true}
	for _, w := range []Way{Goroutine, Pool} {
		t.Run(w.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := make(pipes, 1)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- Run(ctx, w, tls.NewListener(l, config), Service{Open: services["answer"].open, State: PerConnection}, Options{})
				}()
				theirs, ours := net.Pipe()
				l <- theirs
				c := tls.Client(ours, client)
				if _, err := c.Write([]byte("?")); err != nil {
					t.Fatal(err)
				}
				var got []byte
				err := error(nil)
				// takes 4 KiB a second, in all longer than FlushTimeout
				for part := make([]byte, 4096); err == nil; time.Sleep(time.Second) {
					var n int
					n, err = c.Read(part)
					got = append(got, part[:n]...)
				}
				if err != io.EOF || !bytes.Equal(got, full) {
					t.Errorf("got %d of %d bytes and %v, want all and the end", len(got), len(full), err)
				}
				c.Close()
				stop()
				if err := <-ended; err != nil {
					t.Errorf("got error %v from Run, want none", err)
				}
			})
		})
	}
}

// A peer that takes nothing keeps its connection for Options.FlushTimeout. The wait uses no CPU
// time: under virtual time a loop that tries again and again would not end.
func TestAPeerThatTakesNothingOverTLSIsClosedAfterFlushTimeout(t *testing.T) {
	site := httptest.NewTLSServer(nil)
	site.Close()
	config, client := &tls.Config{Certificates: site.TLS.Certificates}, &tls.Config{InsecureSkipVerify: true}
	synctest.Test(t, func(t *testing.T) {
		l := make(pipes, 1)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var meter Meter
		go func() {
			ended <- Run(ctx, Goroutine, tls.NewListener(l, config), Service{Open: services["answer"].open, State: PerConnection}, Options{Meter: &meter})
		}()
		theirs, ours := net.Pipe()
		l <- theirs
		c := tls.Client(ours, client)
		if _, err := c.Write([]byte("?")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 40<<10)); err != nil { // then it stops to read
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		if n := meter.Snapshot().Open; n != 1 {
			t.Errorf("got %d open connections before FlushTimeout, want 1", n)
		}
		time.Sleep(10 * time.Second) // the close of TLS may wait 5 s more
		if n := meter.Snapshot().Open; n != 0 {
			t.Errorf("got %d open connections after FlushTimeout, want 0", n)
		}
		ours.Close()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("got error %v from Run, want none", err)
		}
	})
}

// busySession is in its Input until the test lets it go on.
type busySession struct {
	echo
	conn Conn
	busy chan Conn     // Input -> the test; capacity 1
	goOn chan struct{} // closed by the test
}

func (s *busySession) Input([]byte, *Writer) error {
	s.busy <- s.conn
	<-s.goOn
	return nil
}

// Close loses no output that the kernel takes at once, also if the owner is busy and a post has
// interrupted its next read or write.
func TestOutputBeforeACloseIsWritten(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		busy, goOn := make(chan Conn, 1), make(chan struct{})
		r := startService(t, w, sessions, service{open: func(c Conn) Session { return &busySession{conn: c, busy: busy, goOn: goOn} }}, Options{})
		c := r.dial()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		conn := receive(t, busy, "the session's connection")
		conn.Post()
		conn.Send([]byte("bye"))
		conn.Close()
		close(goOn)
		if got, err := io.ReadAll(c); string(got) != "bye" || err != nil {
			t.Errorf("got %q and the error %v, want what was sent before the close", got, err)
		}
		r.stopsCleanly()
	})
}

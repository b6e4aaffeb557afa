package stackapp

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// dialled returns a connection to a service that runs for the test.
func dialled(t *testing.T, port int) *net.TCPConn {
	t.Helper()
	s := Kernel(netip.Addr{})
	services, err := Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(services.Close)
	c, err := s.Dial(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // it is open
	return c.(*net.TCPConn)
}

func TestEchoSendsBackWhatComes(t *testing.T) {
	c := dialled(t, Echo)
	text := bytes.Repeat([]byte("what comes goes "), 1000)
	go func() { c.Write(text); c.CloseWrite() }() //nolint:errcheck // the reader sees it
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, text) {
		t.Errorf("echo: got %d bytes (%v), want the same %d", len(got), err, len(text))
	}
}

func TestDiscardClosesWhenItsPeerHas(t *testing.T) {
	c := dialled(t, Discard)
	c.Write(make([]byte, 4096)) //nolint:errcheck // the end tells
	c.CloseWrite()              //nolint:errcheck // the end tells
	if got, err := io.ReadAll(c); err != nil || len(got) > 0 {
		t.Errorf("%d bytes and %v, want the end of the stream", len(got), err)
	}
}

func TestSourceSendsUntilTheConnectionBreaks(t *testing.T) {
	c := dialled(t, Source)
	if n, err := io.CopyN(io.Discard, c, 10<<20); err != nil {
		t.Errorf("source: got %d bytes (%v), want 10 MiB", n, err)
	}
}

// A stack that provides a service itself gets no second one on that port.
func TestServedPortsAreLeft(t *testing.T) {
	s := Kernel(netip.Addr{})
	listen, s2 := s.Listen, []int(nil)
	s.Listen = func(port int) (net.Listener, error) { s2 = append(s2, port); return listen(port) }
	s.Served = []int{Echo, Source}
	services, err := Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	services.Close()
	if len(s2) != 1 || s2[0] != Discard {
		t.Errorf("listened on %v, want on 9 alone", s2)
	}
}

package stream

import (
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"weir/internal/freeport"
	"weir/lab/subject"
)

// TestUringServesConnectionsBehindAnEnd: a completion ring's connections share 256 buffers.
// Connections that find none wait for one. If they then only reach the end of their stream, they
// take none, and the connections behind them must still be served.
func TestUringServesConnectionsBehindAnEnd(t *testing.T) {
	s, err := subject.Read("../../../subjects/c-uring/subject.toml")
	if err != nil {
		t.Fatal(err)
	}
	if missing := s.Missing(); missing != "" {
		t.Skip(missing)
	}
	if err := s.Build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	// the test does not read yet, so that the server's writes block and it keeps its buffers
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	port, err := freeport.Choose("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Start(t.Context(), nil, subject.Params{Host: "127.0.0.1", Port: port, Workload: "sink", Size: 1000}, subject.Place{Stdout: in})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()

	const pause = 200 * time.Millisecond
	// all buffers, the capacity of the pipe, and some more
	const much, ends, last = (256 + 16 + 8) * 4096, 600, 1000
	first := dialLocal(t, port)
	send(t, first, much)
	// The bytes that a server has not read cannot be seen from here. With too short a pause the
	// test passes without testing anything.
	time.Sleep(pause)
	for range ends {
		dialLocal(t, port).CloseWrite()
	}
	time.Sleep(pause)
	send(t, dialLocal(t, port), last)
	time.Sleep(pause)
	out.SetReadDeadline(time.Now().Add(30 * time.Second))
	if n, err := io.CopyN(io.Discard, out, much+last); err != nil {
		t.Errorf("got %[2]d bytes of output, want %[1]d: %[3]v", much+last, n, err)
	}
}

func dialLocal(t *testing.T, port int) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

func send(t *testing.T, c net.Conn, n int) {
	t.Helper()
	c.SetWriteDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

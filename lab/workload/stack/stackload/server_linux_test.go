package stackload

import (
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// session serves a connection, which is closed when it returns. over is closed at the end of the
// test.
type session func(c net.Conn, over <-chan struct{})

// echo sends back what it receives.
func echo(c net.Conn, _ <-chan struct{}) { io.Copy(c, c) } //nolint:errcheck // the client sees it

// discard receives data until the client closes the connection.
func discard(c net.Conn, _ <-chan struct{}) { io.Copy(io.Discard, c) } //nolint:errcheck // the client sees it

// source sends data until the client closes the connection.
func source(c net.Conn, _ <-chan struct{}) {
	for block := make([]byte, 1<<16); ; {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// counting discards what it receives, and adds the number of these bytes to n.
func counting(n *atomic.Int64) session {
	return func(c net.Conn, _ <-chan struct{}) {
		got, _ := io.Copy(io.Discard, c)
		n.Add(got)
	}
}

// closesAfterByte closes the connection after the first byte that it receives.
func closesAfterByte(c net.Conn, _ <-chan struct{}) { c.Read(make([]byte, 1)) } //nolint:errcheck // the client sees it

// resets resets the connection after the first byte that it receives.
func resets(c net.Conn, over <-chan struct{}) {
	closesAfterByte(c, over)
	c.(*net.TCPConn).SetLinger(0) //nolint:errcheck // it is open
}

// silent sends nothing and leaves the connection open.
func silent(_ net.Conn, over <-chan struct{}) { <-over }

// says writes text after the first byte that it receives, and leaves the connection open.
func says(text string) session {
	return func(c net.Conn, over <-chan struct{}) {
		c.Read(make([]byte, 1)) //nolint:errcheck // the client sees it
		c.Write([]byte(text))   //nolint:errcheck // the client sees it
		<-over
	}
}

// closesAfterMiB sends 1 MiB and closes the connection: a source that ends too early.
func closesAfterMiB(c net.Conn, _ <-chan struct{}) { c.Write(make([]byte, 1<<20)) } //nolint:errcheck // the client sees it

// serve runs a service on loopback until the end of the test, and returns its port.
func serve(t *testing.T, handle session) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, l, handle)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	n, _ := strconv.Atoi(port)
	return n
}

// serveOn runs a service until the end of the test.
func serveOn(t *testing.T, l net.Listener, handle session) {
	over := make(chan struct{})
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn // guarded by mu
	running.Go(func() {  // until l is closed
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			running.Go(func() { defer c.Close(); handle(c, over) }) // until c is closed
		}
	})
	t.Cleanup(func() {
		close(over)
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
}

package httpload

import (
	"bufio"
	"crypto/tls"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// web starts a web server that answers every request with page, and returns its URL.
func web(t *testing.T) string {
	return serveHTTP(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.Write([]byte(page)) })
} //nolint:errcheck // the client sees it

func serveHTTP(t *testing.T, h nethttp.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// rawServer starts a TCP server that runs handle in a goroutine for each connection, and returns
// its URL. Cleanup closes the listener and all connections, and waits for the goroutines.
func rawServer(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var handled sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn // guarded by mu
	handled.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			handled.Go(func() { defer c.Close(); handle(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		handled.Wait()
	})
	return "http://" + l.Addr().String() + "/"
}

// says returns a handler that answers each request with text. With close it closes the connection
// after the first.
func says(text string, close bool) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			if _, err := nethttp.ReadRequest(r); err != nil {
				return
			}
			if _, err := c.Write([]byte(text)); err != nil || close {
				return
			}
		}
	}
}

// resets returns a handler that reads a request, sends text and resets the connection.
func resets(text string) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := nethttp.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		c.Write([]byte(text)) //nolint:errcheck // the client sees it
		if secured, ok := c.(*tls.Conn); ok {
			c = secured.NetConn()
			defer c.Close() // before close_notify
		}
		c.(*net.TCPConn).SetLinger(0) //nolint:errcheck // it is open
	}
}

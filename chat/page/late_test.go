package page

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"weir/chat"
	"weir/internal/chromium"
)

// A message that the page has sent on a connection which it gives up is stored once, although it
// arrives after the page has sent it again.
func TestWhatArrivesLateIsNotStoredTwice(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{})
	h.account("ann", "correct horse")
	network := startStaller(t, h.addr)
	b := open(t)
	// the page looks at its clock more often, and the test can put that forward
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `window.skew = 0; { const now = Date.now, every = setInterval;
		Date.now = () => now() + skew; window.setInterval = (f, ms) => every(f, ms / 100) }`}, nil)
	b.Size(1280, 800, false)
	b.Go("http://" + network.addr + "/")
	b.logIn("ann", "correct horse", "#a")
	b.inRoom("#a")
	b.say("one")
	b.shows([]string{"one"})

	stalled := network.stall()
	defer stalled.release()
	b.say("two")
	b.Until(`document.querySelectorAll("#log .waiting").length == 1`)
	// after so many milliseconds of silence the connection counts as lost
	chromium.Eval[any](b.Page, `(window.skew = 100_000, 0)`)
	b.shows([]string{"one", "two"})
	stalled.release()
	<-stalled.served
	h.mustHold("#a", []string{"one", "two"})
}

// staller is a network between browsers and a server that can stall WebSockets.
type staller struct {
	t      *testing.T
	addr   string
	server string
	open   sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	latest *stallable // WebSocket
}

// stallable is one WebSocket.
type stallable struct {
	toServer sync.Mutex    // locked while it is stalled
	once     sync.Once     // of release
	served   chan struct{} // closed when the server has closed it
}

// release lets pass what a stall has held back.
func (s *stallable) release() { s.once.Do(s.toServer.Unlock) }

func startStaller(t *testing.T, server string) *staller {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &staller{t: t, addr: l.Addr().String(), server: server}
	s.open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.open.Go(func() { s.carry(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.open.Wait()
	})
	return s
}

// stall holds back what the browser sends on its WebSocket from now on.
func (s *staller) stall() *stallable {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.toServer.Lock()
	return s.latest
}

// carry copies a connection to the server and back.
func (s *staller) carry(c net.Conn) {
	defer c.Close()
	server, err := net.Dial("tcp", s.server)
	if err != nil {
		return
	}
	defer server.Close()
	conn := &stallable{served: make(chan struct{})}
	s.mu.Lock()
	s.conns = append(s.conns, c, server)
	s.mu.Unlock()
	s.open.Go(func() {
		defer close(conn.served)
		_, _ = io.Copy(c, server)
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		if bytes.HasPrefix(buf[:n], []byte("GET /irc")) {
			s.mu.Lock()
			s.latest = conn
			s.mu.Unlock()
		}
		conn.toServer.Lock()
		_, _ = server.Write(buf[:n])
		conn.toServer.Unlock()
		if err != nil {
			_ = server.(*net.TCPConn).CloseWrite()
			<-conn.served
			return
		}
	}
}

package wsload

import (
	"bufio"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
)

// server is an independent WebSocket server that echoes.
type server struct {
	url      string
	ca       []byte       // the certificate of a server with TLS, in PEM
	messages atomic.Int64 // received
	texts    atomic.Int64 // of them
	closed   atomic.Int64 // connections that were closed with the status 1000
}

// echoes starts a server that echoes every message, after serving has done what it wants on the
// connection; nil: nothing.
func echoes(t *testing.T, serving func(*http.Request, *websocket.Conn)) *server {
	t.Helper()
	return startEchoes(t, serving, (*httptest.Server).Start)
}

// startEchoes is echoes with the function that starts the server.
func startEchoes(t *testing.T, serving func(*http.Request, *websocket.Conn), start func(*httptest.Server)) *server {
	t.Helper()
	s := &server{}
	var serves sync.WaitGroup
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		serves.Add(1)
		defer serves.Done()
		defer c.CloseNow()
		c.SetReadLimit(MaxSize)
		if serving != nil {
			serving(r, c)
		}
		s.echo(r, c)
	}))
	start(h)
	t.Cleanup(func() { h.Close(); serves.Wait() })
	if h.TLS != nil {
		s.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	}
	s.url = "ws" + strings.TrimPrefix(h.URL, "http") + "/echo?a=b"
	return s
}

func (s *server) echo(r *http.Request, c *websocket.Conn) {
	for {
		kind, text, err := c.Read(r.Context())
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			s.closed.Add(1)
		}
		if err != nil {
			return
		}
		if s.messages.Add(1); kind == websocket.MessageText {
			s.texts.Add(1)
		}
		if c.Write(r.Context(), kind, text) != nil {
			return
		}
	}
}

// peer is a connection of a server that a test plays.
type peer struct {
	net.Conn
	r *bufio.Reader
}

// plays starts a server that answers the upgrade of each connection with answer, in which ACCEPT
// stands for the right value, and then runs handle.
func plays(t *testing.T, answer string, handle func(p *peer)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serves sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn // guarded by mu
	serves.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			serves.Go(func() {
				defer c.Close()
				p := &peer{c, bufio.NewReader(c)}
				r, err := http.ReadRequest(p.r)
				if err != nil {
					return
				}
				io.WriteString(c, strings.ReplaceAll(answer, "ACCEPT", acceptOf(r.Header.Get("Sec-WebSocket-Key")))) //nolint:errcheck // the client sees it
				handle(p)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		serves.Wait()
	})
	return "ws://" + l.Addr().String() + "/"
}

// upgraded is the right answer to an upgrade.
const upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n"

// read returns the next frame of the client, which must be masked.
func (p *peer) read() (op byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(p.r, head); err != nil {
		return 0, nil, err
	}
	n := int(head[1] & 0x7f)
	if n == 126 {
		size := make([]byte, 2)
		io.ReadFull(p.r, size) //nolint:errcheck // the next read fails
		n = int(binary.BigEndian.Uint16(size))
	}
	if head[1]&0x80 == 0 || head[0]&0xf0 != 0x80 || n == 127 {
		return 0, nil, fmt.Errorf("got the header %x, want a masked whole message", head)
	}
	key := make([]byte, 4)
	io.ReadFull(p.r, key) //nolint:errcheck // the next read fails
	payload = make([]byte, n)
	_, err = io.ReadFull(p.r, payload)
	for i := range payload {
		payload[i] ^= key[i%4]
	}
	return head[0] & 0x0f, payload, err
}

// write sends a frame of at most 125 bytes.
func (p *peer) write(first byte, payload string) {
	p.Write(append([]byte{first, byte(len(payload))}, payload...)) //nolint:errcheck // the client sees it
}

// each returns a handler that calls answer for each message, and answers Close.
func each(answer func(p *peer, payload string)) func(*peer) {
	return func(p *peer) {
		for {
			op, payload, err := p.read()
			if err != nil {
				return
			}
			if op == 8 {
				p.write(0x88, string(payload))
				return
			}
			answer(p, string(payload))
		}
	}
}

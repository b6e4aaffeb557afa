package page

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"weir/chat"
)

// Subprotocols of IRC over WebSocket.
const (
	textProtocol   = "text.ircv3.net"
	binaryProtocol = "binary.ircv3.net"
)

// maxMessage is the maximum size of a message. The session replies with an error to lines between
// IRC's limit and this one.
const maxMessage = 16 << 10

// closeTimeout is how long a client may take to receive the remaining output after its session
// ended.
const closeTimeout = 2 * time.Second

// clientAddr is the address of a WebSocket client, with its chat.Peer.
type clientAddr struct {
	addr string
	peer chat.Peer
}

// Network implements net.Addr.
func (v *clientAddr) Network() string { return "websocket" }

// String implements net.Addr.
func (v *clientAddr) String() string { return v.addr }

// pipeEnd is the end of the pipe that serve uses.
type pipeEnd struct {
	net.Conn
	addr       *clientAddr
	closeTimer *time.Timer   // cancels the WebSocket
	ended      chan struct{} // closed by Close
	endOnce    sync.Once
}

// Close implements net.Conn. serve calls it after the session has ended. The client gets
// closeTimeout to receive output in flight.
func (e *pipeEnd) Close() error {
	e.closeTimer.Reset(closeTimeout)
	e.endOnce.Do(func() { close(e.ended) })
	return e.Conn.Close()
}

// RemoteAddr implements net.Conn.
func (e *pipeEnd) RemoteAddr() net.Addr { return e.addr }

// serveWebSocket runs a WebSocket connection from start to end.
func (p *Page) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: subprotocol(r), OriginPatterns: *p.origins.Load()})
	if err != nil {
		return // Accept has sent the error response
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxMessage)
	ours, theirs := net.Pipe()
	defer ours.Close()
	addr, _ := netip.ParseAddrPort(r.RemoteAddr)
	from := &clientAddr{addr: r.RemoteAddr, peer: chat.Peer{Addr: addr.Addr().Unmap().WithZone(""), Secure: r.TLS != nil}}
	// The request's context ends too early: a closing handshake may follow.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	cut := time.AfterFunc(math.MaxInt64, cancel)
	defer cut.Stop()
	end := &pipeEnd{Conn: theirs, addr: from, closeTimer: cut, ended: make(chan struct{})}
	if id := clientID(r.URL.Query()); id != "" {
		defer p.endPredecessor(id, &liveClient{func() { _ = ours.Close(); _ = ws.CloseNow() }, end.ended})()
	}
	if !p.connQueue.push(end) {
		_ = ws.Close(websocket.StatusGoingAway, "the server is shutting down")
		return
	}
	s := &socket{ws: ws, pipe: ours, strict: ws.Subprotocol() != ""}
	if s.kind = websocket.MessageText; ws.Subprotocol() == binaryProtocol {
		s.kind = websocket.MessageBinary
	}
	// End the connection when the HTTP server is closed.
	defer context.AfterFunc(r.Context(), func() { _ = ours.Close() })()
	s.run(ctx, cancel, p.connQueue.closed)
}

// subprotocol returns the first supported subprotocol that the client requests, or nil.
func subprotocol(r *http.Request) []string {
	for word := range strings.SplitSeq(strings.Join(r.Header["Sec-Websocket-Protocol"], ","), ",") {
		for _, known := range []string{textProtocol, binaryProtocol} {
			if strings.EqualFold(strings.TrimSpace(word), known) {
				return []string{known}
			}
		}
	}
	return nil
}

// socket copies lines between a WebSocket and a pipe.
type socket struct {
	ws     *websocket.Conn
	pipe   net.Conn
	kind   websocket.MessageType
	strict bool // a subprotocol is in use: messages of the other type are an error
}

// run runs both directions and returns when both have ended. stopping is closed when the page is
// closed.
func (s *socket) run(ctx context.Context, cancel func(), stopping <-chan struct{}) {
	done := make(chan struct{}) // closed by the writer
	go func() {
		defer close(done)
		defer cancel()
		if s.write(ctx) == nil {
			s.sendClose(stopping)
		}
	}()
	if code, reason := s.read(ctx); code != 0 {
		_ = s.ws.Close(code, reason)
	}
	_ = s.pipe.Close()
	<-done
}

// sendClose sends the Close frame after the session has ended.
func (s *socket) sendClose(stopping <-chan struct{}) {
	select {
	case <-stopping:
		_ = s.ws.Close(websocket.StatusGoingAway, "the server is shutting down")
	default:
		_ = s.ws.Close(websocket.StatusNormalClosure, "")
	}
}

// read copies messages to the pipe until the client or the session ends. A code other than 0 is the
// close status for a client that violates the protocol.
func (s *socket) read(ctx context.Context) (code websocket.StatusCode, reason string) {
	for {
		kind, line, err := s.ws.Read(ctx)
		if err != nil {
			return 0, ""
		}
		// some clients send CR LF although the specification forbids it
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
		switch {
		case s.strict && kind != s.kind:
			return websocket.StatusUnsupportedData, "this message type does not match the subprotocol"
		case bytes.ContainsAny(line, "\r\n"):
			return websocket.StatusPolicyViolation, "a message must be one line"
		}
		if _, err := s.pipe.Write(append(line, '\r', '\n')); err != nil {
			return 0, ""
		}
	}
}

// write copies lines to the WebSocket. It returns nil when the session has ended.
func (s *socket) write(ctx context.Context) error {
	lines := bufio.NewReaderSize(s.pipe, 4096)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			if !utf8.Valid(line) {
				line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
			}
			if failed := s.ws.Write(ctx, s.kind, line); failed != nil {
				_ = s.pipe.Close()
				return failed
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

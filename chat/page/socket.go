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
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"weir/chat"
)

// The subprotocols of IRC over WebSocket.
const (
	textProtocol   = "text.ircv3.net"
	binaryProtocol = "binary.ircv3.net"
)

// maxMessage is the size of the largest message that is read. Longer lines than IRC has are
// answered by the session, up to here.
const maxMessage = 16 << 10

// linger is how long a client may take to take what it was sent before its session ended.
const linger = 2 * time.Second

// visitor is the address of a WebSocket's client, with all that is known of it.
type visitor struct {
	addr string
	peer chat.Peer
}

// Network implements net.Addr.
func (v *visitor) Network() string { return "websocket" }

// String implements net.Addr.
func (v *visitor) String() string { return v.addr }

// end is the end of the pipe that serve has.
type end struct {
	net.Conn
	from *visitor
	cut  *time.Timer // ends the WebSocket
}

// Close implements net.Conn. The client is given a while to take what is on its way.
func (e *end) Close() error {
	e.cut.Reset(linger)
	return e.Conn.Close()
}

// RemoteAddr implements net.Conn.
func (e *end) RemoteAddr() net.Addr { return e.from }

// talk is a WebSocket connection, from its begin to its end.
func (p *Page) talk(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: subprotocol(r), OriginPatterns: *p.origins.Load()})
	if err != nil {
		return // it has been answered
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxMessage)
	ours, theirs := net.Pipe()
	defer ours.Close()
	addr, _ := netip.ParseAddrPort(r.RemoteAddr)
	from := &visitor{addr: r.RemoteAddr, peer: chat.Peer{Addr: addr.Addr().Unmap().WithZone(""), Secure: r.TLS != nil}}
	// a closing handshake comes before its end
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	cut := time.AfterFunc(math.MaxInt64, cancel)
	defer cut.Stop()
	if !p.doors.enter(&end{theirs, from, cut}) {
		_ = ws.Close(websocket.StatusGoingAway, "the server stops")
		return
	}
	s := &socket{ws: ws, pipe: ours, strict: ws.Subprotocol() != ""}
	if s.kind = websocket.MessageText; ws.Subprotocol() == binaryProtocol {
		s.kind = websocket.MessageBinary
	}
	// an HTTP server that stops does not wait for ever
	defer context.AfterFunc(r.Context(), func() { _ = ours.Close() })()
	s.run(ctx, cancel, p.doors.closec)
}

// subprotocol is the first of those that a client asks for that is known here; none, if no one is.
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

// socket carries lines between a WebSocket and a pipe.
type socket struct {
	ws     *websocket.Conn
	pipe   net.Conn
	kind   websocket.MessageType
	strict bool // a subprotocol was agreed on: messages of the other kind are refused
}

// run owns the writer. It returns when both directions have ended. Stopc is closed when the page
// stops.
func (s *socket) run(ctx context.Context, cancel func(), stopc <-chan struct{}) {
	done := make(chan struct{}) // closed by the writer
	go func() {
		defer close(done)
		defer cancel()
		if s.write(ctx) == nil {
			s.bye(stopc)
		}
	}()
	if code, why := s.read(ctx); code != 0 {
		_ = s.ws.Close(code, why)
	}
	_ = s.pipe.Close()
	<-done
}

// bye tells the client that its session has ended.
func (s *socket) bye(stopc <-chan struct{}) {
	select {
	case <-stopc:
		_ = s.ws.Close(websocket.StatusGoingAway, "the server stops")
	default:
		_ = s.ws.Close(websocket.StatusNormalClosure, "")
	}
}

// read passes messages on as lines, until the client or the session has ended. A code is the status
// of a client that breaks the rules.
func (s *socket) read(ctx context.Context) (code websocket.StatusCode, why string) {
	for {
		kind, line, err := s.ws.Read(ctx)
		if err != nil {
			return 0, ""
		}
		// some send it nevertheless
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
		switch {
		case s.strict && kind != s.kind:
			return websocket.StatusUnsupportedData, "the subprotocol has messages of the other kind"
		case bytes.ContainsAny(line, "\r\n"):
			return websocket.StatusPolicyViolation, "a message is one line"
		}
		if _, err := s.pipe.Write(append(line, '\r', '\n')); err != nil {
			return 0, ""
		}
	}
}

// write passes lines on as messages, until the session has ended: then without an error.
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

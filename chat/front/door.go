package front

import (
	"errors"
	"fmt"
	"net"
	"time"

	"weir/chat"
	"weir/serve"
)

// peerAddr is the remote address of a TLS connection, with what is known of its client.
type caller struct {
	net.Addr
	peer chat.Peer
}

// Door opens the sessions of a chat's connections. Its fields are immutable after the first Open.
// The zero value of a field other than Chat selects its default.
type Door struct {
	Chat    *chat.Service
	Proxies Proxies       // proxies whose connections start with a header. Default none
	Wait    time.Duration // time limit of a header. Default 5 s
}

// Open implements the function Open of serve.Service, for connections of any listener.
func (d *Door) Open(c serve.Conn) serve.Session {
	if k, ok := c.RemoteAddr().(*caller); ok {
		return d.Chat.Session(c, k.peer)
	}
	if !d.Proxies.Trust(c.RemoteAddr()) {
		return d.Chat.Session(c, chat.Peer{})
	}
	wait := d.Wait
	if wait == 0 {
		wait = 5 * time.Second
	}
	c.Post() // so that serve calls Wake, which sets the deadline
	return &announced{conn: c, chat: d.Chat, until: time.Now().Add(wait)}
}

// proxiedSession is a session behind a proxy: it reads the header and then passes everything to the
// chat's session.
type announced struct {
	conn  serve.Conn
	chat  *chat.Service
	until time.Time // deadline of the header

	in      []byte        // received part of the header
	session serve.Session // nil before the header
}

var (
	errNoHeaderInTime = fmt.Errorf("%w in time", ErrNoHeader)
	// the chat has sent the reason
	errRefused = errors.New("front: the chat has refused the connection")
)

// Input implements serve.Session.
func (a *announced) Input(in []byte, w *serve.Writer) error {
	if a.session != nil {
		return a.session.Input(in, w)
	}
	before := len(a.in)
	a.in = append(a.in, in...)
	c, n, err := parseHeader(a.in)
	if err != nil {
		w.WriteString("ERROR :Closing link (connections from this address must start with a PROXY header)\r\n")
		return err
	}
	if n == 0 {
		return nil
	}
	a.in = nil
	if a.session = a.chat.Session(a.conn, chat.Peer{Addr: c.addr, Secure: c.secure}); a.session == nil {
		return errRefused
	}
	if n -= before; n < len(in) {
		return a.session.Input(in[n:], w)
	}
	return nil
}

// Wake implements serve.Session.
func (a *announced) Wake(now time.Time, w *serve.Writer) error {
	switch {
	case a.session != nil:
		return a.session.Wake(now, w)
	case now.Before(a.until):
		w.WakeAt(a.until)
		return nil
	}
	w.WriteString("ERROR :Closing link (no PROXY header arrived in time)\r\n")
	return errNoHeaderInTime
}

// Close implements serve.Session.
func (a *announced) Close(err error) {
	if a.session != nil {
		a.session.Close(err)
	}
}

// Move implements serve.Movable, if the chat's session does.
func (a *announced) Move(w *serve.Writer) (state []byte, ok bool) {
	if m, movable := a.session.(serve.Movable); movable {
		return m.Move(w)
	}
	return nil, false
}

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
type peerAddr struct {
	net.Addr
	peer chat.Peer
}

// Door opens the sessions of a chat's connections. Its fields are immutable after the first Open.
// The zero value of a field other than Chat selects its default.
type Door struct {
	Chat          *chat.Service
	Proxies       Proxies       // proxies whose connections start with a header. Default none
	HeaderTimeout time.Duration // time limit of a header. Default 5 s
}

// Open implements the function Open of serve.Service, for connections of any listener.
func (d *Door) Open(c serve.Conn) serve.Session {
	if k, ok := c.RemoteAddr().(*peerAddr); ok {
		return d.Chat.Session(c, k.peer)
	}
	if !d.Proxies.Trust(c.RemoteAddr()) {
		return d.Chat.Session(c, chat.Peer{})
	}
	wait := d.HeaderTimeout
	if wait == 0 {
		wait = 5 * time.Second
	}
	c.Post() // so that serve calls Wake, which sets the deadline
	return &proxiedSession{conn: c, chat: d.Chat, deadline: time.Now().Add(wait)}
}

// proxiedSession is a session behind a proxy: it reads the header and then passes everything to the
// chat's session.
type proxiedSession struct {
	conn     serve.Conn
	chat     *chat.Service
	deadline time.Time // deadline of the header

	header  []byte        // received part of the header
	session serve.Session // nil before the header
}

var (
	errNoHeaderInTime = fmt.Errorf("%w in time", ErrNoHeader)
	// the chat has sent the reason
	errChatRefused = errors.New("front: the chat has refused the connection")
)

// Input implements serve.Session.
func (a *proxiedSession) Input(in []byte, w *serve.Writer) error {
	if a.session != nil {
		return a.session.Input(in, w)
	}
	before := len(a.header)
	a.header = append(a.header, in...)
	c, n, err := parseHeader(a.header)
	if err != nil {
		w.WriteString("ERROR :Closing link (connections from this address must start with a PROXY header)\r\n")
		return err
	}
	if n == 0 {
		return nil
	}
	a.header = nil
	if a.session = a.chat.Session(a.conn, chat.Peer{Addr: c.addr, Secure: c.secure}); a.session == nil {
		return errChatRefused
	}
	if n -= before; n < len(in) {
		return a.session.Input(in[n:], w)
	}
	return nil
}

// Wake implements serve.Session.
func (a *proxiedSession) Wake(now time.Time, w *serve.Writer) error {
	switch {
	case a.session != nil:
		return a.session.Wake(now, w)
	case now.Before(a.deadline):
		w.WakeAt(a.deadline)
		return nil
	}
	w.WriteString("ERROR :Closing link (no PROXY header arrived in time)\r\n")
	return errNoHeaderInTime
}

// Close implements serve.Session.
func (a *proxiedSession) Close(err error) {
	if a.session != nil {
		a.session.Close(err)
	}
}

// Move implements serve.Movable, if the chat's session does.
func (a *proxiedSession) Move(w *serve.Writer) (state []byte, ok bool) {
	if m, movable := a.session.(serve.Movable); movable {
		return m.Move(w)
	}
	return nil, false
}

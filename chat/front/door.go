package front

import (
	"errors"
	"fmt"
	"net"
	"time"

	"weir/chat"
	"weir/serve"
)

// caller is the address of a connection by TLS, with what is known of the client.
type caller struct {
	net.Addr
	peer chat.Peer
}

// Door opens the sessions of a chat's connections. Its fields are not changed once Open was called;
// the zero value of a field but Chat gives its default.
type Door struct {
	Chat    *chat.Service
	Proxies Proxies       // whose connections begin by a header. Default none
	Wait    time.Duration // how long a header may take. Default 5 s
}

// Open is serve.Service's, for connections of any listener.
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
	c.Post() // so that it is woken, and says when next
	return &announced{conn: c, chat: d.Chat, until: time.Now().Add(wait)}
}

// announced is a session that a proxy announces: the chat's, from the header on. Its owner is who
// serve calls it by.
type announced struct {
	conn  serve.Conn
	chat  *chat.Service
	until time.Time // when the header has to be there

	in      []byte        // of the header
	session serve.Session // nil before it
}

var (
	errNoHeaderInTime = fmt.Errorf("%w in time", ErrNoHeader)
	errRefused        = errors.New("front: the chat has refused the connection") // and said why
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
		w.WriteString("ERROR :Closing link (this address has to begin by a PROXY header)\r\n")
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
	w.WriteString("ERROR :Closing link (no PROXY header came)\r\n")
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

// Package conn is the connection that web/server puts between the kernel and net/http. It lets
// net/http see only what web/http1 lets pass, drops clients that keep it waiting, and sends a
// response's head and body in one write. The core of web finds it again, while it answers a
// request, by From.
//
// One write: net/http writes the head of a response with a known length and its body one after the
// other, two system calls for a small answer. Respond lets net/http make the head as ever (its
// dates, its Connection field, its bookkeeping of what was written), but the connection keeps those
// bytes back, and sends them together with the body when net/http hands the body over: joined in
// one buffer when small, by one writev when large, and before a file by a send that tells the
// kernel that more follows (sendfile).
//
// Strictness: net/http never sees a byte that a violation of HTTP's framing begins with, nor one
// behind it. It sees in its place bytes that it certainly refuses, when it gets there, and the
// connection puts the scanner's own reason into the refusal.
//
// Slowness: no timer is set for a request. A connection notes by when a read must end, and the
// Watch, which owns the one clock, ends those that are late.
//
// # Limitations
//
// Content-Type is not guessed: who answers by Respond states it. One goroutine writes a response,
// as net/http's own rules want. Over TLS the body is copied, there is no sendfile. Elsewhere than
// on Linux there is none either, and a client's progress with an answer shows by pieces of 64 KiB
// only, so that one slower than 64 KiB in the grace is dropped.
package conn

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"weir/web/http1"
)

// Conn is an HTTP/1 connection. Its methods as a net.Conn belong to net/http; Respond, RespondFile
// and Hijacked to whoever answers the request that is being handled on it. All three may be called
// on nil, the connection of a server that is not ours: they then do the plain thing.
type Conn struct {
	net.Conn              // the line, or TLS over it
	line     *Line        //
	tcp      *net.TCPConn // the line's, when nothing is between

	// Owned by the goroutine that reads, of which net/http has one at a time.
	scan    http1.Scanner
	peeked  bool   // peek went to net/http before the scanner saw it
	peek    byte   //
	rest    []byte // what was read beyond a request that may change the protocol
	refusal string // what of the refusal net/http has not read yet
	seen    uint64 // requests that were whole at the last look
	phase   phase  //
	waited  int64  // nanoseconds, by the watch's clock, that reads took in this phase
	got     int64  // bytes of the body

	listening listening

	// Owned by the goroutine that answers.
	hold   bool   // what is written now is a head, to be kept
	held   []byte // the head that waits for its body; nil between answers
	src    source // the body on its way through net/http
	broken error  // a write that failed: nothing may follow half a response
	size   int64  // the last Content-Length
	sized  [1]string

	// Shared by those two, and by whoever ends the connection.
	reason                atomic.Pointer[http1.Violation] // why nothing more is let through
	refused               atomic.Bool                     // the client was told so
	timedRead, timedWrite atomic.Bool                     // somebody set a deadline
}

// TLS is a Conn over TLS; net/http fills in Request.TLS by its ConnectionState.
type TLS struct {
	*Conn
	state tls.ConnectionState
}

// ConnectionState is what the handshake agreed on.
func (t *TLS) ConnectionState() tls.ConnectionState { return t.state }

// Plain is a connection that speaks HTTP/1 over l itself.
func (l *Line) Plain() *Conn {
	return &Conn{Conn: l, line: l, tcp: l.tcp, scan: http1.New(l.watch.rules.HTTP)}
}

// Over is a connection that speaks HTTP/1 over t, whose handshake over l is done.
func (l *Line) Over(t *tls.Conn) *TLS {
	return &TLS{Conn: &Conn{Conn: t, line: l, scan: http1.New(l.watch.rules.HTTP)}, state: t.ConnectionState()}
}

type key struct{}

// NewContext gives the requests on c, a connection that came out of Plain or Over, a context in
// which From finds it (http.Server.ConnContext). Other connections leave ctx as it is.
func NewContext(ctx context.Context, c net.Conn) context.Context {
	switch c := c.(type) {
	case *tls.Conn: // of HTTP/2
		if l, ok := c.NetConn().(*Line); ok && l.place != nil {
			return WithPlace(ctx, l.place)
		}
	case *TLS:
		return context.WithValue(ctx, key{}, c.Conn)
	case *Conn:
		return context.WithValue(ctx, key{}, c)
	}
	return ctx
}

// Turning gives r, a request whose handler may take the connection over, a context that ends when
// it did and the server stops, or when cancel is called. It is made for such requests alone: one
// for each connection would be a third of what this package adds to an idle one.
func Turning(r *http.Request) (turning *http.Request, cancel context.CancelFunc) {
	c := From(r.Context())
	if c == nil {
		return r, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	c.line.end.Store(&cancel)
	return r.WithContext(ctx), cancel
}

// From finds the connection of the request with this context: nil when it did not come by HTTP/1
// through web/server.
func From(ctx context.Context) *Conn {
	c, _ := ctx.Value(key{}).(*Conn)
	return c
}

type stopping struct{}

// WithStopping gives ctx, and what comes of it, the channel that Stopping finds.
func WithStopping(ctx context.Context, c <-chan struct{}) context.Context {
	return context.WithValue(ctx, stopping{}, c)
}

// Stopping gives a channel that is closed when the server of the request with this context begins
// to stop: an answer without an end, such as a stream of events, should then end by itself. It is
// nil, which is never closed, when the server is somebody else's.
func Stopping(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(stopping{}).(<-chan struct{})
	return c
}

// Hijacked says that the connection no longer carries HTTP: nothing is checked or timed any more.
// It is called by the one who took it over; net/http's own way of doing so is noticed without.
func (c *Conn) Hijacked() {
	if c != nil {
		c.line.takenOver()
	}
}

// SetDeadline is called by net/http when a handler takes the connection over, and never otherwise:
// that is how the connection learns of it.
func (c *Conn) SetDeadline(t time.Time) error {
	c.Hijacked()
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline leaves out what changes nothing: net/http takes a deadline back that nobody set,
// several times a request, and calls a read back that did not begin.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.listening.deadline(t) && !c.line.hijacked.Load() {
		return nil
	}
	if t.IsZero() && !c.timedRead.Load() && !c.line.hijacked.Load() {
		return nil
	}
	c.timedRead.Store(!t.IsZero())
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline leaves out what changes nothing.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() && !c.timedWrite.Load() && !c.line.hijacked.Load() {
		return nil
	}
	c.timedWrite.Store(!t.IsZero())
	return c.Conn.SetWriteDeadline(t)
}

// CloseWrite sends the end of the stream; net/http does so before it waits for a client that it
// refused.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	if c.tcp != nil {
		return c.tcp.CloseWrite()
	}
	return nil
}

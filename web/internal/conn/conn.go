// Package conn is the connection that web/server puts between the kernel and net/http, and that the core of
// web finds again while it answers a request, so that a response's head and body leave in one write.
//
// net/http writes the head of a response with a known length and its body one after the other: two system
// calls for a small answer. Respond lets net/http make the head as ever (its dates, its Connection field, its
// bookkeeping of what was written), but the connection keeps those bytes back, and sends them together with
// the body when net/http hands the body over: joined in one buffer when small, by one writev when large, and
// before a file by a send that tells the kernel that more follows (sendfile).
//
// # Limitations
//
// Content-Type is not guessed: who answers by Respond states it. One goroutine writes a response, as
// net/http's own rules want. Over TLS the body is copied, there is no sendfile.
package conn

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// Conn is a connection that can hold a response's head back. Its methods as a net.Conn belong to net/http;
// Respond, RespondFile and Hijacked to whoever answers the request that is being handled on it. All three may be
// called on nil, the connection of a server that is not ours: they then do the plain thing.
type Conn struct {
	net.Conn
	tcp      *net.TCPConn // the same connection when it is plain TCP, otherwise nil
	hijacked atomic.Bool

	// Owned by the goroutine that answers.
	hold   bool   // what is written now is a head, to be kept
	held   []byte // the head that waits for its body; from heads, nil in between
	src    source // the body on its way through net/http
	broken error  // a write that failed: nothing may follow half a response
}

// New wraps a connection that net/http will serve.
func New(c net.Conn) *Conn {
	tcp, _ := c.(*net.TCPConn)
	return &Conn{Conn: c, tcp: tcp}
}

type key struct{}

// NewContext gives the requests of c a context in which From finds it (http.Server.ConnContext).
func NewContext(ctx context.Context, c *Conn) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// From finds the connection of the request with this context: nil when it did not come by HTTP/1 through
// web/server.
func From(ctx context.Context) *Conn {
	c, _ := ctx.Value(key{}).(*Conn)
	return c
}

// Hijacked says that the connection no longer carries HTTP: nothing is checked or timed any more.
func (c *Conn) Hijacked() {
	if c != nil {
		c.hijacked.Store(true)
	}
}

// SetDeadline is called by net/http when a handler takes the connection over, and never otherwise: that is
// how the connection learns of it.
func (c *Conn) SetDeadline(t time.Time) error {
	c.Hijacked()
	return c.Conn.SetDeadline(t)
}

// Package conn stands between the kernel and net/http. It lets net/http see only what web/http1
// accepts, ends connections of slow clients, and sends the head and the body of a response in one
// write. It also limits and evicts connections of both engines ([Places]), and watches their
// clients ([Watch]). While a request is served, [From] finds its connection.
//
// One write: net/http writes the head of a response and its body one after the other, by two system
// calls. With [Conn.Respond], net/http makes the head as always (its dates, its Connection field,
// its count of what was written), but the connection keeps those bytes. It sends them with the body
// when net/http passes that on: joined in one buffer if both are small, by one writev if they are
// large, and before a file by a send that announces more to the kernel (sendfile).
//
// Strictness: net/http sees no byte from the start of a violation of HTTP's framing on. In its
// place it sees bytes that it rejects, and the connection puts the scanner's reason into the
// response.
//
// Slow clients: a request sets no timer. A connection stores the time by which a read must end, and
// the Watch, which owns the only clock, ends the connections that are late.
//
// # Limitations
//
// Content-Type is not detected: a caller of Respond states it. One goroutine writes a response, as
// net/http demands. Over TLS the body is copied, without sendfile. On other systems than Linux
// there is no sendfile either, and the progress of a client shows only by pieces of 64 KiB, so that
// a client that takes less than a piece in the grace is dropped.
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
// and Hijacked belong to the goroutine that serves the current request. All three may be called on
// nil, which stands for the connection of another server: they then use the ResponseWriter only.
type Conn struct {
	net.Conn // the line, or TLS over it
	line     *Line
	tcp      *net.TCPConn // the line's; nil: TLS is between, or it is not TCP

	// Owned by the goroutine that reads, of which net/http has one at a time.
	scanner       http1.Scanner
	hasPeeked     bool   // net/http has peeked before the scanner has
	peeked        byte   // the byte that net/http has
	rest          []byte // input behind a request that may change the protocol
	rejectedInput string // what net/http has not read yet of the input that it rejects
	scanned       uint64 // requests that were whole at the last scan
	phase         phase
	waited        int64 // nanoseconds, by the watch's clock, that reads took in this phase
	bodyBytes     int64 // bytes of the body so far

	detection disconnectDetection

	// Owned by the goroutine that answers.
	keepsHead   bool   // net/http writes a head now, which is kept
	head        []byte // the head that is kept until its body; nil between responses
	body        source // the body on its way through net/http
	writeErr    error  // of the first write that failed: nothing may follow half a response
	length      int64  // the last Content-Length
	lengthField [1]string

	// Shared by both, and by the goroutine that ends the connection.
	violation        atomic.Pointer[http1.Violation] // why net/http gets no more input
	isRejected       atomic.Bool                     // the client was sent the reason
	hasReadDeadline  atomic.Bool
	hasWriteDeadline atomic.Bool
}

// TLS is a Conn over TLS; net/http fills in Request.TLS by its ConnectionState.
type TLS struct {
	*Conn
	state tls.ConnectionState
}

// ConnectionState returns the result of the handshake.
func (t *TLS) ConnectionState() tls.ConnectionState { return t.state }

// Plain returns a connection for HTTP/1 over l itself.
func (l *Line) Plain() *Conn {
	return &Conn{Conn: l, line: l, tcp: l.tcp, scanner: http1.New(l.watch.rules.HTTP)}
}

// Over returns a connection for HTTP/1 over t, whose handshake over l is done.
func (l *Line) Over(t *tls.Conn) *TLS {
	return &TLS{Conn: &Conn{Conn: t, line: l, scanner: http1.New(l.watch.rules.HTTP)}, state: t.ConnectionState()}
}

type key struct{}

// NewContext returns a context for the requests on c, in which From finds c if Plain or Over has
// made it (http.Server.ConnContext). For other connections it returns ctx.
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

// WithStop returns r, a request whose handler may take the connection over, with a context that is
// canceled when the handler has done so and the server stops. Only such requests have one: a
// context for each connection would be a third of what this package adds to an idle connection.
func WithStop(r *http.Request) (stoppable *http.Request, cancel context.CancelFunc) {
	c := From(r.Context())
	if c == nil {
		return r, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	c.line.cancelHijacked.Store(&cancel)
	return r.WithContext(ctx), cancel
}

// From returns the connection of the request with this context; nil: the request did not come by
// HTTP/1 through web/server.
func From(ctx context.Context) *Conn {
	c, _ := ctx.Value(key{}).(*Conn)
	return c
}

type stopping struct{}

// WithStopping returns a context in which Stopping finds the channel.
func WithStopping(ctx context.Context, c <-chan struct{}) context.Context {
	return context.WithValue(ctx, stopping{}, c)
}

// Stopping returns a channel that is closed when the server of the request with this context starts
// to stop: a response without an end, such as a stream of events, should then end by itself. For
// other servers it returns nil, which is never closed.
func Stopping(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(stopping{}).(<-chan struct{})
	return c
}

// Hijacked ends all checks and limits of the connection, which no longer carries HTTP. The code
// that has taken the connection over calls it. With net/http's own Hijack, no call is needed.
func (c *Conn) Hijacked() {
	if c != nil {
		c.line.takenOver()
	}
}

// SetDeadline implements [net.Conn]. net/http calls it only when a handler takes the connection
// over.
func (c *Conn) SetDeadline(t time.Time) error {
	c.Hijacked()
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements [net.Conn]. It skips what changes nothing: net/http removes a deadline
// that is not set, several times a request, and interrupts a read that has not started.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.detection.setDeadline(t) && !c.line.hijacked.Load() {
		return nil
	}
	if t.IsZero() && !c.hasReadDeadline.Load() && !c.line.hijacked.Load() {
		return nil
	}
	c.hasReadDeadline.Store(!t.IsZero())
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements [net.Conn]. It skips what changes nothing.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() && !c.hasWriteDeadline.Load() && !c.line.hijacked.Load() {
		return nil
	}
	c.hasWriteDeadline.Store(!t.IsZero())
	return c.Conn.SetWriteDeadline(t)
}

// CloseWrite sends the end of the stream. net/http does so before it waits for a client whose
// request it has rejected.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	if c.tcp != nil {
		return c.tcp.CloseWrite()
	}
	return nil
}

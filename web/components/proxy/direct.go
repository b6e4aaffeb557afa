package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"weir/web"
	"weir/web/http1"
	"weir/web/internal/origin"
)

// direct is an exchange whose request was read before an upstream is asked, with an upstream that
// is used by plain HTTP/1.1: the usual case. The goroutine that serves the exchange sends the
// request and reads the response. The other exchanges are left to [httputil.ReverseProxy].
type direct struct {
	exchange
	request *http.Request // the client's; until Handle returns, as fields
	content []byte        // of the request

	forwarding
	options       []string // the fields that the client's Connection field names
	takesTrailers bool     // the client accepts trailers

	conn     *origin.Conn    // to the upstream that responds; nil: there is none
	response *http1.Received // its head
	// ends the wait for a client that disconnects, and reports whether it did in time; nil: no wait
	stopWait func() bool
	isEvents bool // the response is a stream of events
	// The server stops, and ends the stream of events. Nil: the stream ends by itself.
	stopping <-chan struct{}
	over     chan struct{} // closed by end, for the goroutine that waits for stopping
}

// isDirect reports whether the exchange of a request can be a direct one.
func (p *Proxy) isDirect(r *http.Request) bool {
	return p.plain && r.ContentLength >= 0 && r.ContentLength <= maxBuffered && (r.Header["Upgrade"] == nil || !isWebSocket(r))
}

// serveDirect sets up the response.
func (d *direct) serveDirect(c *web.Conn) {
	d.request = c.BorrowRequest()
	_, content, err := d.bufferBody(d.request.Body, d.request.ContentLength)
	if err == nil {
		d.content = content
		d.setFields()
		err = d.tryUpstreams(d.request.Method, true, func(u *upstream) (bool, error) { return d.try(c, u) })
	}
	if err != nil {
		d.err = err
		return
	}
	d.answer(c)
	d.request = nil
}

// try sends the request to an upstream and reads the head of the response.
func (d *direct) try(c *web.Conn, u *upstream) (began bool, err error) {
	target := d.target(u)
	for again := false; ; again = true {
		if err = d.connect(c, u, again); err != nil {
			return false, err
		}
		if err = d.ask(c, d.appendHead(d.conn.Room(), target, u)); err == nil {
			return true, nil
		}
		began = d.conn.HasBegun()
		stale := d.conn.WasUsed() && !began && !isTimeout(err) // its server has closed it just now
		d.endConn()
		if !stale || again || !isIdempotent(d.request.Method) {
			return began, err
		}
	}
}

// isTimeout reports whether a wait has reached its limit.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// connect takes a connection to an upstream: one that was kept, unless it must be new.
func (d *direct) connect(c *web.Conn, u *upstream, isNew bool) (err error) {
	if !isNew {
		d.conn = u.conns.Take()
	}
	if d.conn == nil {
		d.ctx = c.Context()
		if d.conn, err = u.conns.Connect(d.ctx); err != nil {
			return err
		}
	}
	d.conn.Begin()
	return nil
}

// awaitClient is called when the wait for an upstream takes long: from then on, a client that
// disconnects ends it.
func (d *direct) awaitClient(ctx context.Context) {
	d.ctx = ctx
	d.stopWait = context.AfterFunc(ctx, d.conn.Interrupt)
}

// endConn ends the use of the connection.
func (d *direct) endConn() {
	c := d.conn
	if c == nil {
		return
	}
	if d.stopWait != nil && !d.stopWait() || d.over != nil {
		c.Interrupt() // another goroutine may do so later: it is not used again
	}
	d.conn, d.stopWait = nil, nil
	c.End()
}

// ask sends the request, passes informational responses on, and reads the head of the final one.
func (d *direct) ask(c *web.Conn, head []byte) error {
	switch err := d.conn.Send(head, d.content, d.p.idleTimeout); {
	case isTimeout(err):
		return idleError(d.p.idleTimeout)
	case err != nil:
		return err
	}
	limit, began := d.p.headTimeout, time.Now()
	for interim := 0; interim <= maxInterim; interim++ {
		r, err := d.conn.ReadHead(d.request.Method, limit)
		if err == origin.ErrSlow {
			d.awaitClient(c.Context())
			r, err = d.conn.ReadHead(d.request.Method, d.p.left(limit, began))
		}
		switch {
		case isTimeout(err):
			return fmt.Errorf("the upstream sent no response within %v: %w", d.p.headTimeout, err)
		case err != nil:
			return err
		case r.Status == http.StatusSwitchingProtocols:
			return errSwitched
		case r.Status >= 200:
			d.response = r
			return nil
		case r.Status != http.StatusContinue:
			c.PassInformational(r.Status, headerOf(d.conn.Fields(), r.NamesFields))
		}
		limit = d.p.left(d.p.headTimeout, began)
	}
	return errInterim
}

// left returns what is left of a limit that began at a time; 0 is no limit.
func (*Proxy) left(limit time.Duration, began time.Time) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(1, limit-time.Since(began))
}

// maxInterim is the number of informational responses to one request.
const maxInterim = 5

// The reasons why a response is invalid.
var (
	errSwitched = errors.New("the upstream has switched protocols unasked")
	errInterim  = errors.New("the upstream sends too many informational responses")
)

// end returns connection and upstream when the exchange is over.
func (d *direct) end() {
	if d.over != nil {
		close(d.over)
	}
	d.endConn()
	d.p.pool.give(d.upstream, d.upstreamErr)
}

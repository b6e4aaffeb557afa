package engine

import (
	"net/http"
	"runtime/debug"

	"weir/serve"
	"weir/web/http1"
)

const (
	firstBuffer   = 4 << 10 // bytes of an input buffer at first
	maxKeptBuffer = 8 << 10 // a larger input buffer is not kept for later requests
)

// exchange is a request and its response. It implements [http.ResponseWriter]. Between requests it
// belongs to the server's pool, with its buffers and with the last request that it has served: most
// clients send the same head again.
type exchange struct {
	conn *Conn // nil in the pool

	in      []byte // input: the current request from start on, then perhaps later ones
	start   int    // in the input: of the current request; behind its head once that was read
	headEnd int    // in the input
	// the head is known to be equal to the last one
	sameHead bool

	head     parsedHead
	request  *http.Request   // of the current or, if it may be used again, the last exchange
	context  *requestContext // of request
	body     *body           // of request; of its own, because a handler may keep it
	detached bool            // the handler may keep what it was given: nothing of it is used again
	over     bool            // the exchange is over, and the handler may have kept it
	// The handler runs, or has ended by runtime.Goexit.
	inHandler bool

	response
}

func newExchange() *exchange {
	x := &exchange{in: make([]byte, 0, firstBuffer)}
	x.out = make([]byte, 0, firstBuffer)
	return x
}

// compact moves the input of the current request to the start of the buffer.
func (x *exchange) compact() {
	if x.start > 0 {
		x.in = x.in[:copy(x.in, x.in[x.start:])]
		x.start = 0
	}
}

// makeRoom makes sure that the input buffer has room for a read.
func (x *exchange) makeRoom() {
	if x.start == len(x.in) && x.start > 0 {
		x.compact()
	}
	if len(x.in) == cap(x.in) {
		x.in = append(make([]byte, 0, 2*cap(x.in)), x.in...)
	}
}

// run answers the request whose head is in x.in. It reports whether the connection goes on.
func (x *exchange) run() bool {
	head := x.in[x.start:x.headEnd]
	x.start = x.headEnd
	if err := x.makeRequest(head); err != nil {
		x.reject(&http1.Violation{Reason: err.Error(), Status: http.StatusBadRequest}, head)
		return false
	}
	x.response.reset(x)
	x.framing.Close = x.framing.Close || x.conn.server.isStopping()
	if x.head.options.ExpectUnknown {
		x.framing.Close = true
		x.WriteHeader(http.StatusExpectationFailed)
		x.finish()
		return false
	}
	if x.detached {
		x.LeaveLoop()
	}
	returned := x.callHandler()
	x.body.end()
	if x.hijacked != nil {
		x.awaitHijacked(returned)
		return false
	}
	if returned {
		x.finish()
	}
	x.context.stopWatch()
	x.context.end()
	x.conn.returnToLoop()
	goesOn := returned && x.failed == nil && !x.framing.Close && (!x.fullDuplex || x.body.drain())
	x.conn.clearDeadlines()
	if !goesOn && returned && x.clientIsDone() {
		serve.SkipLinger(x.conn.conn)
	}
	if x.detached {
		x.conn.x = x.renew()
	}
	return goesOn
}

// clientIsDone reports whether the request was the client's last one, and all of it was read (RFC
// 9112, section 9.6).
func (x *exchange) clientIsDone() bool {
	return x.head.options.Close && x.failed == nil && x.body.wasRead() && x.start == len(x.in)
}

// renew returns an exchange for the next request, in place of x, which the handler may have kept.
// From then on writes to x fail.
func (x *exchange) renew() *exchange {
	x.over = true
	next := &exchange{conn: x.conn, in: x.in, start: x.start}
	next.out, next.pending = x.out[:0], x.pending[:0]
	return next
}

// Detach makes sure that what the handler was given is used for this exchange only.
func (x *exchange) Detach() { x.detached = true }

// LeaveLoop makes sure that the handler may block, and that other goroutines may use the request
// and the response, until the exchange is over. Only the goroutine that serves the connection may
// call it.
func (x *exchange) LeaveLoop() {
	c := x.conn
	if leave := c.server.config.LeaveLoop; leave != nil && !c.away {
		c.away = leave(c.conn)
		x.context.setWatchable()
	}
}

// callHandler calls the handler. It reports whether the handler returned, and did not panic.
func (x *exchange) callHandler() (returned bool) {
	x.inHandler = true
	defer func() {
		if returned {
			return
		}
		x.detached = true
		p := recover()
		x.inHandler = p == nil
		if x.hijacked != nil {
			_ = x.conn.conn.Close() // it has ended in any case
		}
		if report := x.conn.server.config.OnPanic; report != nil && p != nil && p != http.ErrAbortHandler {
			report(x.request, p, debug.Stack())
		}
	}()
	x.conn.server.config.Handler.ServeHTTP(x, x.request)
	x.inHandler = false
	return true
}

// reject answers a request that cannot be read. start is what has arrived of it. The connection
// ends.
func (x *exchange) reject(v *http1.Violation, start []byte) {
	x.head.forget()
	x.body = noContent
	x.response.reset(x)
	x.framing = http1.Rejection(start)
	x.header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	// the connection ends in any case
	_, _ = x.Respond(v.Status, []byte("Refused: "+v.Reason+".\n"))
}

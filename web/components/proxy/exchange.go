package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"weir/web"
)

// kept is how long a request's body may be, in bytes, to be kept for another try.
const kept = 64 << 10

// Why there is no response.
var (
	errNone    = errors.New("proxy: no upstream is well")
	errConnect = errors.New("proxy: CONNECT asks for a tunnel, which this is not")
	errNoHost  = errors.New("proxy: the request names no host that upstreams could be asked for: set host if they do not need the client's")
	errRawPath = errors.New("proxy: the path has segments to resolve, or slashes in a part that was rewritten: upstreams that need raw_path may read it in another way")
)

// exchange is one request on its way to an upstream. It is owned by the goroutine that runs the
// handler.
type exchange struct {
	p        *Proxy
	user     string
	key      string
	rawPath  string // what upstreams are asked for in place of the canonical path; "": that
	tried    []*upstream
	upstream *upstream // whose response it is; taken from the pool
	body     io.ReadCloser
	input    *input
	gone     bool // the client, before there was a response
	raw      bool // the client's connection was taken over
	unwanted bool // the body
	// the try whose response it is; nil: there is nothing to release
	release context.CancelCauseFunc
	broken  error
	err     error // why there is no response, or no whole one
}

// address finds out what upstreams are asked for, and why they cannot be asked.
func (x *exchange) address(c *web.Conn) error {
	if c.Host() == "" && x.p.Host == "" {
		return errNoHost // or net/http would send the upstream's own
	}
	if !x.p.RawPath {
		return nil
	}
	raw, ok := c.RawPath()
	if !ok {
		return errRawPath
	}
	x.rawPath = raw
	return nil
}

// serve is the handler: the set-up up to the head, and the body.
func (x *exchange) serve(w http.ResponseWriter, r *http.Request) {
	defer x.end()
	// or net/http would drop, for the head of an early response, what the upstream is to read
	if alone(r) {
		_ = http.NewResponseController(w).EnableFullDuplex()
	}
	proxy := httputil.ReverseProxy{
		Rewrite: x.rewrite, Transport: x, ModifyResponse: x.watchBody, BufferPool: buffers{}, ErrorLog: silent,
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, why error) { x.failed(why) },
	}
	proxy.ServeHTTP(&writer{web: w, own: http.Header{}, x: x}, r)
}

// failed is told why there is no response. Behind a head, it is one that can't be understood.
func (x *exchange) failed(why error) {
	x.err = why
	if x.upstream != nil && !x.raw {
		x.broken = why
	}
}

// end gives the upstream back, and swallows the panic by which ReverseProxy ends a copy that was
// ended on purpose.
func (x *exchange) end() {
	if x.release != nil {
		x.release(nil)
	}
	if u := x.upstream; u != nil {
		x.p.pool.give(u, x.broken)
	}
	if x.unwanted {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}
}

// RoundTrip implements [http.RoundTripper]: it tries upstreams until one responds.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	replay, err := x.keep(r)
	if err != nil {
		return nil, err
	}
	var last error
	for len(x.tried) <= x.p.retries {
		u := x.p.pool.take(x.key, x.tried)
		if u == nil {
			break
		}
		x.tried = append(x.tried, u)
		began := false
		resp, err := x.try(r, u, replay, &began)
		if err == nil {
			x.upstream, x.body = u, resp.Body
			return resp, nil
		}
		last = fmt.Errorf("proxy: %s: %w", u.reading.Name, err)
		if x.blame(r.Context(), u, err) && !began && (unsent(err) || replay != nil && idempotent(r.Method)) {
			continue
		}
		return nil, last
	}
	if last == nil {
		last = errNone
	}
	return nil, last
}

// keep reads a body that is small enough to be sent again. It gives nil where there is one that is
// not.
func (x *exchange) keep(r *http.Request) (func() io.ReadCloser, error) {
	if r.Body == nil || r.ContentLength == 0 {
		return func() io.ReadCloser { return http.NoBody }, nil
	}
	x.input = &input{r: r.Body}
	if r.ContentLength < 0 || r.ContentLength > kept {
		return nil, nil
	}
	data := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(x.input, data); err != nil {
		return nil, err
	}
	r.Header.Del("Expect") // the client has sent what upstreams would be asked about
	return func() io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }, nil
}

// try asks one upstream. Began is set when a byte of its response has come.
func (x *exchange) try(r *http.Request, u *upstream, replay func() io.ReadCloser, began *bool) (*http.Response, error) {
	var first atomic.Bool // set by the goroutine that reads from the upstream
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() { first.Store(true) }})
	out := r.WithContext(ctx)
	at := *r.URL
	out.URL = &at
	(&httputil.ProxyRequest{In: r, Out: out}).SetURL(u.target)
	if x.rawPath != "" {
		at.Opaque = strings.TrimSuffix(u.target.EscapedPath(), "/") + x.rawPath // sent as it is
	}
	switch x.p.Host {
	case "":
		out.Host = r.Host
	case "upstream":
	default:
		out.Host = x.p.Host
	}
	if replay != nil {
		out.Body = replay()
		out.GetBody = func() (io.ReadCloser, error) { return replay(), nil }
	} else {
		out.Body = x.input
	}
	resp, err := x.send(out, u)
	*began = first.Load()
	return resp, err
}

// send sends a request, whose body must be taken without a pause of IdleTimeout until the response
// has a head.
func (x *exchange) send(r *http.Request, u *upstream) (*http.Response, error) {
	if x.input == nil || x.p.idle == 0 { // there is no body, or no limit
		return u.transport.RoundTrip(r)
	}
	r, limit := limitSend(r, x.p.idle)
	r.Body = sent{r.Body, limit}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return sent{body, limit}, err
		}
	}
	resp, err := u.transport.RoundTrip(r)
	if limit.end() {
		if err == nil {
			_ = resp.Body.Close()
		}
		resp, err = nil, idleError(x.p.idle)
	}
	if err != nil {
		limit.cancel(nil)
		return nil, err
	}
	x.release = limit.cancel
	return resp, nil
}

// blame gives a failed upstream back, and says whether it was its fault.
func (x *exchange) blame(ctx context.Context, u *upstream, why error) bool {
	x.gone = ctx.Err() != nil
	if x.gone || x.input.failed() != nil {
		x.p.pool.drop(u)
		return false
	}
	x.p.pool.give(u, why)
	return true
}

// unsent says whether a request that failed was not begun.
func unsent(err error) bool {
	_, ok := errors.AsType[dialError](err)
	return ok
}

// idempotent says whether doing a request twice is doing it once (RFC 9110 section 9.2.2).
func idempotent(method string) bool {
	return slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, method)
}

// status is what the client is told of a failure.
func (x *exchange) status() int {
	_, tooLarge := errors.AsType[*http.MaxBytesError](x.input.failed())
	timeout, ok := errors.AsType[net.Error](x.err)
	switch {
	case x.gone:
		return web.StatusClientClosedRequest
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case x.input.failed() != nil:
		return http.StatusBadRequest
	case errors.Is(x.err, errNone):
		return http.StatusServiceUnavailable
	case len(x.tried) == 0: // the request made no sense to ReverseProxy
		return http.StatusBadRequest
	case ok && timeout.Timeout():
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// input is the body of a request. It is read by a goroutine of the upstream's connection; its
// closing is the server's, which made it.
type input struct {
	r   io.Reader
	err atomic.Pointer[error]
}

// Read implements [io.Reader].
func (i *input) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && err != io.EOF {
		i.err.Store(&err)
	}
	return n, err
}

// Close implements [io.Closer].
func (i *input) Close() error { return nil }

// failed is why the client's body could not be read, nil when it could.
func (i *input) failed() error {
	if i == nil || i.err.Load() == nil {
		return nil
	}
	return *i.err.Load()
}

// buffers are what bodies are copied by.
type buffers struct{}

var pooled = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Get implements [httputil.BufferPool].
func (buffers) Get() []byte { return pooled.Get().(*[32 << 10]byte)[:] }

// Put implements [httputil.BufferPool].
func (buffers) Put(b []byte) { pooled.Put((*[32 << 10]byte)(b)) }

// silent is the log of ReverseProxy: what it would say is in the exchange's error.
var silent = log.New(io.Discard, "", 0)

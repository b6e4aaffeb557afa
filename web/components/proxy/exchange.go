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
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"weir/web"
)

// maxBuffered is the size of the largest request body, in bytes, that is buffered for a retry.
const maxBuffered = 64 << 10

// The reasons why an exchange has no response.
var (
	errNone    = errors.New("proxy: no upstream is available")
	errConnect = errors.New("proxy: CONNECT is not supported")
	errNoHost  = errors.New("proxy: the request has no host: set host in the configuration if upstreams do not need the client's")
	errTarget  = errors.New("proxy: the path or the query has a space or a control character")
	errRawPath = errors.New("proxy: the path has empty or dot segments, or was rewritten with slashes: with raw_path, upstreams may resolve it differently")
)

// exchange is one request on its way to an upstream. The goroutine that runs the handler owns it.
type exchange struct {
	p       *Proxy
	user    string
	hashKey string
	// of the request; nil: no wait has depended on whether the client is still there
	ctx          context.Context
	rawPath      string // sent instead of the canonical path; "": the canonical path is sent
	tried        []*upstream
	upstream     *upstream // the upstream that responded, taken from the pool; nil: none
	responseBody io.ReadCloser
	requestBody  *requestBody
	clientGone   bool // the client disconnected before there was a response
	hijacked     bool // the client's connection was hijacked
	bodyUnwanted bool // the response's body is not sent
	// releases the context of the try that succeeded; nil: nothing to release
	releaseTry context.CancelCauseFunc
	// the upstream's failure after its header; nil: none
	upstreamErr error
	err         error // why there is no response, or no complete one
}

// setTarget sets the path for upstreams, or returns why the request cannot be sent on.
func (x *exchange) setTarget(c *web.Conn) error {
	if c.Host() == "" && x.p.Host == "" {
		return errNoHost // net/http would send the upstream's own name
	}
	if x.p.RawPath {
		raw, ok := c.RawPath()
		if !ok {
			return errRawPath
		}
		x.rawPath = raw
	}
	// HTTP/2 permits what would end a request line of HTTP/1
	if strings.ContainsFunc(x.rawPath+c.RawQuery(), func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errTarget
	}
	return nil
}

// serve is the handler: the set-up until the response's header, then the body.
func (x *exchange) serve(w http.ResponseWriter, r *http.Request) {
	defer x.end()
	// Without full duplex, net/http would discard the rest of the request's body when an early
	// response's header is written.
	if mustClose(r) {
		_ = http.NewResponseController(w).EnableFullDuplex()
	}
	proxy := httputil.ReverseProxy{
		Rewrite: x.rewrite, Transport: x, ModifyResponse: x.watchBody, BufferPool: bufferPool{}, ErrorLog: discardLog,
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, why error) { x.fail(why) },
	}
	proxy.ServeHTTP(&writer{web: w, upstreamHeader: http.Header{}, x: x}, r)
}

// fail records why there is no response. When an upstream has responded, its header is invalid, and
// the failure is the upstream's.
func (x *exchange) fail(why error) {
	x.err = why
	if x.upstream != nil && !x.hijacked {
		x.upstreamErr = why
	}
}

// end returns the upstream to the pool. It recovers the panic with which ReverseProxy ends a copy
// that was ended on purpose.
func (x *exchange) end() {
	if x.releaseTry != nil {
		x.releaseTry(nil)
	}
	if u := x.upstream; u != nil {
		x.p.pool.give(u, x.upstreamErr)
	}
	if x.bodyUnwanted {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}
}

// RoundTrip implements [http.RoundTripper]. It tries upstreams until one responds.
func (x *exchange) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	x.ctx = r.Context()
	buffered, data, err := x.bufferBody(r.Body, r.ContentLength)
	if err != nil {
		return nil, err
	}
	var replay func() io.ReadCloser
	if buffered {
		r.Header.Del("Expect") // the client has sent the body already
		replay = func() io.ReadCloser { return bodyOfBytes(data) }
	}
	err = x.tryUpstreams(r.Method, buffered, func(u *upstream) (began bool, err error) {
		resp, err = x.try(r, u, replay, &began)
		return began, err
	})
	if err != nil {
		return nil, err
	}
	x.responseBody = resp.Body
	return resp, nil
}

// bodyOfBytes returns a request body. The transport must see that there is none.
func bodyOfBytes(data []byte) io.ReadCloser {
	if len(data) == 0 {
		return http.NoBody
	}
	return io.NopCloser(bytes.NewReader(data))
}

// tryUpstreams tries upstreams until one responds. try reports whether a byte of a response has
// arrived. replayable says that it may be called again.
func (x *exchange) tryUpstreams(method string, replayable bool, try func(*upstream) (began bool, err error)) error {
	var last error
	for len(x.tried) <= x.p.retries {
		u := x.p.pool.take(x.hashKey, x.tried, x.p.weights)
		if u == nil {
			break
		}
		x.tried = append(x.tried, u)
		began, err := try(u)
		if err == nil {
			x.upstream = u
			return nil
		}
		last = fmt.Errorf("proxy: %s: %w", u.reading.Name, err)
		if !x.giveBack(u, err) || began || !isUnsent(err) && !(replayable && isIdempotent(method)) {
			return last
		}
	}
	if last == nil {
		last = errNone
	}
	return last
}

// bufferBody reads a body that is small enough to be sent again. It reports whether there is none,
// or it was read.
func (x *exchange) bufferBody(body io.Reader, length int64) (buffered bool, data []byte, err error) {
	if body == nil || length == 0 {
		return true, nil, nil
	}
	x.requestBody = &requestBody{r: body}
	if length < 0 || length > maxBuffered {
		return false, nil, nil
	}
	data = make([]byte, length)
	_, err = io.ReadFull(x.requestBody, data)
	return true, data, err
}

// try sends the request to one upstream. It sets began when a byte of the response has arrived.
func (x *exchange) try(r *http.Request, u *upstream, replay func() io.ReadCloser, began *bool) (*http.Response, error) {
	var first atomic.Bool // set by the goroutine that reads from the upstream
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() { first.Store(true) }})
	out := r.WithContext(ctx)
	out.URL, out.Host = x.targetURL(r, u), x.host(r, u)
	if replay != nil {
		out.Body = replay()
		out.GetBody = func() (io.ReadCloser, error) { return replay(), nil }
	} else {
		out.Body = x.requestBody
	}
	resp, err := x.send(out, u)
	*began = first.Load()
	return resp, err
}

// targetURL returns the URL of a request at an upstream.
func (x *exchange) targetURL(r *http.Request, u *upstream) *url.URL {
	at := *r.URL
	(&httputil.ProxyRequest{Out: &http.Request{URL: &at}}).SetURL(u.target)
	if x.rawPath != "" {
		at.Opaque = strings.TrimSuffix(u.target.EscapedPath(), "/") + x.rawPath // sent unchanged
	}
	return &at
}

// host returns the Host field of a request at an upstream.
func (x *exchange) host(r *http.Request, u *upstream) string {
	switch x.p.Host {
	case "":
		return r.Host
	case "upstream":
		return u.target.Host
	}
	return x.p.Host
}

// send sends a request. Until the response's header arrives, the upstream must accept data of the
// body at least every IdleTimeout.
func (x *exchange) send(r *http.Request, u *upstream) (*http.Response, error) {
	if x.requestBody == nil || x.p.idleTimeout == 0 { // there is no body, or no limit
		return u.transport.RoundTrip(r)
	}
	r, limit := limitSend(r, x.p.idleTimeout)
	r.Body = limitedBody{r.Body, limit}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return limitedBody{body, limit}, err
		}
	}
	resp, err := u.transport.RoundTrip(r)
	if limit.end() {
		if err == nil {
			_ = resp.Body.Close()
		}
		resp, err = nil, idleError(x.p.idleTimeout)
	}
	if err != nil {
		limit.cancel(nil)
		return nil, err
	}
	x.releaseTry = limit.cancel
	return resp, nil
}

// giveBack returns an upstream to the pool after a failure. It reports whether the failure was the
// upstream's, rather than the client's.
func (x *exchange) giveBack(u *upstream, why error) bool {
	x.clientGone = x.ctx != nil && x.ctx.Err() != nil
	if x.clientGone || x.requestBody.readError() != nil {
		x.p.pool.drop(u)
		return false
	}
	x.p.pool.give(u, why)
	return true
}

// isUnsent reports whether a failed request was not sent at all.
func isUnsent(err error) bool {
	_, ok := errors.AsType[dialError](err)
	return ok
}

// isIdempotent reports whether a method is idempotent (RFC 9110, section 9.2.2).
func isIdempotent(method string) bool {
	return slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, method)
}

// status returns the status of a failure.
func (x *exchange) status() int {
	_, tooLarge := errors.AsType[*http.MaxBytesError](x.requestBody.readError())
	timeout, ok := errors.AsType[net.Error](x.err)
	switch {
	case x.clientGone:
		return web.StatusClientClosedRequest
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case x.requestBody.readError() != nil:
		return http.StatusBadRequest
	case errors.Is(x.err, errNone):
		return http.StatusServiceUnavailable
	case len(x.tried) == 0: // ReverseProxy rejected the request
		return http.StatusBadRequest
	case ok && timeout.Timeout():
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// requestBody is the body of a request. A goroutine of the upstream's connection reads it. Close
// does nothing, because the server closes the body.
type requestBody struct {
	r   io.Reader
	err atomic.Pointer[error]
}

// Read implements [io.Reader].
func (i *requestBody) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && err != io.EOF {
		i.err.Store(&err)
	}
	return n, err
}

// Close implements [io.Closer].
func (i *requestBody) Close() error { return nil }

// readError returns why the client's body could not be read, or nil.
func (i *requestBody) readError() error {
	if i == nil || i.err.Load() == nil {
		return nil
	}
	return *i.err.Load()
}

// bufferPool provides the buffers that bodies are copied with.
type bufferPool struct{}

var bufferMemory = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Get implements [httputil.BufferPool].
func (bufferPool) Get() []byte { return bufferMemory.Get().(*[32 << 10]byte)[:] }

// Put implements [httputil.BufferPool].
func (bufferPool) Put(b []byte) { bufferMemory.Put((*[32 << 10]byte)(b)) }

// discardLog is the log of ReverseProxy: the exchange's error has the same information.
var discardLog = log.New(io.Discard, "", 0)

package web

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"

	"weir/web/internal/canonical"
)

// Conn carries one exchange: the request, the response's header fields until they are sent, and the
// response's body as a value.
//
// Exactly one component holds a Conn at a time, from the call of its Handle to its return. A
// component that keeps a Conn longer, or passes it to a goroutine, races with the next component. A
// build with the tag webdebug panics on such a use. After the exchange, the Conn is reused for
// another one.
type Conn struct {
	ownership
	w    http.ResponseWriter
	r    *http.Request // as components see it: orig, or a copy that a component has changed
	orig *http.Request // as received, in canonical form
	// where the request's goroutine waits
	requestSide   *requestSide
	previousStage *stage // the stage before an admission queue; nil: the entry

	target     string  // the request target as received (RFC 9112, section 3.2)
	clientPath rawPath // the path as the client escaped it

	// of the response; 0: not set yet
	status     int
	header     http.Header // of the response
	answered   bool
	body       Body
	transforms []Transform
	// registered by Before
	beforeHead []func(*Conn)
	// registered by After
	afterExchange []func(*Conn)
	values        []keyedValue
	// why the exchange failed, for the log
	err error
	// bytes of the response's body that were sent
	sentBytes   int64
	hasTrailers bool // the response has trailer fields
	// close the connection, so that the client sees a truncated body as truncated
	abortConn bool
	// leaveLoop was called
	hasLeftLoop bool
	// by the branches that it has passed, if a component has the trait OtherPaths
	decided decisions
}

// keyedValue is a value that one component stores for others.
type keyedValue struct{ key, keyedValue any }

// requestSide belongs to the request's goroutine, which waits there until the response of its
// exchange is set up.
type requestSide struct {
	conn     *Conn    // the valid Conn: always the same one, except in a debug build
	putBatch [1]*Conn // the argument of flow.Net.Put
	// Sent by the last stage of the path or the net's error function, received by the request's
	// goroutine. Capacity 1, never closed.
	setUpDone chan struct{}
}

func newConn() *Conn {
	c := &Conn{requestSide: &requestSide{setUpDone: make(chan struct{}, 1)}}
	c.requestSide.conn = c
	return c
}

// start prepares c for a request.
func (c *Conn) start(w http.ResponseWriter, r *http.Request) {
	c.w, c.r, c.orig, c.header, c.target = w, r, r, w.Header(), r.RequestURI
	c.requestSide.conn, c.requestSide.putBatch[0] = c, c
}

// reset drops all references of the exchange and keeps the memory for the next one.
func (c *Conn) reset() {
	clear(c.transforms)
	clear(c.beforeHead)
	clear(c.afterExchange)
	clear(c.values)
	clear(c.decided.by)
	*c = Conn{requestSide: c.requestSide, decided: decisions{by: c.decided.by[:0]}, transforms: c.transforms[:0], beforeHead: c.beforeHead[:0], afterExchange: c.afterExchange[:0], values: c.values[:0]}
}

// Method returns the request's method.
func (c *Conn) Method() string { c.assertOwned(); return c.r.Method }

// Path returns the request's path, decoded and in canonical form, as earlier components left it. It
// starts with a slash and has no empty and no dot segments. Base decisions on it.
func (c *Conn) Path() string { c.assertOwned(); return c.r.URL.Path }

// RawQuery returns the request's query as received, without the question mark.
func (c *Conn) RawQuery() string { c.assertOwned(); return c.r.URL.RawQuery }

// Query returns the first value of a query parameter, or "".
func (c *Conn) Query(name string) string { c.assertOwned(); return c.r.URL.Query().Get(name) }

// Target returns the request target as received (RFC 9112, section 3.2). No component changes it.
// Use it in logs only: many targets mean one path, so base decisions on [Conn.Path].
func (c *Conn) Target() string { c.assertOwned(); return c.target }

// Host returns the requested host in lower case, with its port unless that is the scheme's default,
// or "" if the request has none.
func (c *Conn) Host() string { c.assertOwned(); return c.r.Host }

// Proto returns the protocol version of the request, such as "HTTP/1.1".
func (c *Conn) Proto() string { c.assertOwned(); return c.r.Proto }

// ProtoAtLeast reports whether the request's protocol version is at least major.minor.
func (c *Conn) ProtoAtLeast(major, minor int) bool {
	c.assertOwned()
	return c.r.ProtoAtLeast(major, minor)
}

// RemoteAddr returns the client's address as HOST:PORT.
func (c *Conn) RemoteAddr() string { c.assertOwned(); return c.r.RemoteAddr }

// Secure reports whether the exchange uses TLS.
func (c *Conn) Secure() bool { c.assertOwned(); return c.r.TLS != nil }

// Context returns the request's context, which is canceled when the client disconnects or the
// exchange ends.
func (c *Conn) Context() context.Context { c.assertOwned(); c.detach(); return c.r.Context() }

// RequestHeader returns the first value of a request field, or "".
func (c *Conn) RequestHeader(name string) string { c.assertOwned(); return value(c.r.Header, name) }

// RequestHeaders returns all values of a request field. The caller must not change them.
func (c *Conn) RequestHeaders(name string) []string { c.assertOwned(); return values(c.r.Header, name) }

// RequestBody returns the request's body.
func (c *Conn) RequestBody() io.Reader { c.assertOwned(); return c.r.Body }

// RequestBodySize returns the length of the request's body in bytes, or -1 if it is not known.
func (c *Conn) RequestBodySize() int64 { c.assertOwned(); return c.r.ContentLength }

// LimitRequestBody makes reading more than n bytes of the request's body fail with an
// [http.MaxBytesError].
func (c *Conn) LimitRequestBody(n int64) {
	c.assertOwned()
	c.mutableRequest().Body = http.MaxBytesReader(c.w, c.r.Body, n)
}

// SetRequestHeader sets a request field for the components that follow. It also protects the field
// from the client: it removes client fields with names that some programs take for the same name,
// and the field's name from the client's Connection field.
func (c *Conn) SetRequestHeader(name, value string) {
	c.assertOwned()
	h := c.mutableRequest().Header
	claimField(h, name)
	h.Set(name, value)
}

// AddRequestHeader adds a value to a request field for the components that follow. It protects the
// field from the client as SetRequestHeader does.
func (c *Conn) AddRequestHeader(name, value string) {
	c.assertOwned()
	h := c.mutableRequest().Header
	claimField(h, name)
	h.Add(name, value)
}

// DelRequestHeader removes a request field for the components that follow, together with client
// fields whose names some programs take for the same name.
func (c *Conn) DelRequestHeader(name string) {
	c.assertOwned()
	h := c.mutableRequest().Header
	claimField(h, name)
	h.Del(name)
}

// Rewrite changes path and query for the components that follow. The path is decoded, the query is
// not. Rewrite resolves empty and dot segments of the path.
func (c *Conn) Rewrite(path, rawQuery string) {
	c.assertOwned()
	r := c.mutableRequest()
	r.URL = &url.URL{Path: canonical.Resolve(path), RawQuery: rawQuery}
	c.clientPath = rawPath{ambiguous: c.clientPath.ambiguous || c.clientPath.encodedSlash}
}

// HTTPRequest returns the request for use with net/http, with path and host in canonical form. The
// caller may read its body but must not change the request.
func (c *Conn) HTTPRequest() *http.Request { c.assertOwned(); c.detach(); return c.r }

// BorrowRequest returns the request as HTTPRequest does, for use until the component's Handle
// returns. The caller must not keep it, its context, or its header, because the engine uses them
// again.
func (c *Conn) BorrowRequest() *http.Request { c.assertOwned(); return c.r }

// detach makes the engine use request, context and header fields for this exchange only: the
// caller may keep them.
func (c *Conn) detach() {
	if d, ok := c.w.(interface{ Detach() }); ok {
		d.Detach()
	}
}

// LeaveLoop is for a component without a Width, before a call that may block now and then: the read
// of a file after its cache has missed. A model with event loops continues the exchange on a
// goroutine of its own, and serves other connections meanwhile. Other models, and later calls for
// the same exchange, do nothing. A component that often blocks declares a Width: see [Traits].
func (c *Conn) LeaveLoop() { c.assertOwned(); c.leaveLoop() }

// leaveLoop makes sure that blocking calls, and other goroutines that use the exchange, delay no
// other exchange: an engine on an event loop leaves it. The first call of an exchange comes from
// the request's goroutine.
func (c *Conn) leaveLoop() {
	if c.hasLeftLoop {
		return
	}
	c.hasLeftLoop = true
	if l, ok := c.w.(interface{ LeaveLoop() }); ok {
		l.LeaveLoop()
	}
}

// WithContext sets the context for the components that follow. It must be derived from
// [Conn.Context].
func (c *Conn) WithContext(ctx context.Context) {
	c.assertOwned()
	c.detach()
	c.r = c.mutableRequest().WithContext(ctx)
}

// mutableRequest returns a copy of the request that components may change. The original belongs to
// the server.
func (c *Conn) mutableRequest() *http.Request {
	if c.r == c.orig {
		r := new(http.Request)
		*r = *c.orig
		r.Header = c.orig.Header.Clone()
		c.r = r
	}
	return c.r
}

// SetValue stores a value for other components under a key. The key should have a type of the
// component's own package.
func (c *Conn) SetValue(key, v any) {
	c.assertOwned()
	for i := range c.values {
		if c.values[i].key == key {
			c.values[i].keyedValue = v
			return
		}
	}
	c.values = append(c.values, keyedValue{key, v})
}

// Value returns the value stored under a key, or nil.
func (c *Conn) Value(key any) any {
	c.assertOwned()
	for _, v := range c.values {
		if v.key == key {
			return v.keyedValue
		}
	}
	return nil
}

// Before registers f to be called after the setup phase and before the head is sent. The request's
// goroutine calls the functions in reverse order of registration. f may still change status, fields
// and body. It is also called for exchanges that failed, but not for a hijacked connection.
func (c *Conn) Before(f func(*Conn)) { c.assertOwned(); c.beforeHead = append(c.beforeHead, f) }

// After registers f to be called when the exchange is over, whatever its outcome. The request's
// goroutine calls the functions in reverse order of registration. Status, Sent, Err and all header
// fields are final by then.
func (c *Conn) After(f func(*Conn)) { c.assertOwned(); c.afterExchange = append(c.afterExchange, f) }

// SendInformational sends an informational response (RFC 9110, section 15.2) at once, with the
// fields set so far. The status is 100 to 199, but not 101. A client of HTTP/1.0 does not know such
// responses and gets none.
func (c *Conn) SendInformational(status int) {
	c.assertOwned()
	if c.orig.ProtoAtLeast(1, 1) {
		c.w.WriteHeader(status)
	}
}

// PassInformational sends an informational response of another server at once, with its fields
// only. The status is 100 to 199, but not 101. A client of HTTP/1.0 gets none.
func (c *Conn) PassInformational(status int, fields http.Header) {
	c.assertOwned()
	if !c.orig.ProtoAtLeast(1, 1) {
		return
	}
	set := maps.Clone(c.header)
	clear(c.header)
	maps.Copy(c.header, fields)
	c.w.WriteHeader(status)
	clear(c.header)
	maps.Copy(c.header, set)
}

// SetTrailer sets a trailer field. A stream, which runs later, uses the function [SetTrailer].
func (c *Conn) SetTrailer(name, value string) {
	c.assertOwned()
	c.hasTrailers = true
	c.header.Set(http.TrailerPrefix+name, value)
}

// Hijack answers the exchange by taking over the connection: f is called with it instead of sending
// a response. Filters do not see the bytes that follow. Where the engine cannot hijack, as with
// HTTP/2 and HTTP/3, the exchange is answered by 501.
func (c *Conn) Hijack(f func(net.Conn, *bufio.ReadWriter)) {
	c.setAnswer(Body{kind: hijackBody, hijack: func(c *Conn) error {
		inner, rw, err := c.hijack()
		if err == nil {
			f(inner, rw)
		}
		return err
	}})
}

package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"

	"weir/web/internal/canonical"
)

// Conn carries one exchange: the request, the head of the response until it is sent, and the body
// as a value.
//
// Exactly one component holds a Conn at a time: from the call of its Handle to its return. A
// component that keeps a Conn longer, or hands it to a goroutine, races with the next one; a build
// with the tag webdebug panics where that is seen. After the exchange a Conn is used for another
// one.
type Conn struct {
	ownership
	w    http.ResponseWriter
	r    *http.Request // as components see it
	orig *http.Request // as it came, in canonical form
	home *home
	via  *stage // that a line asks about: the one before, nil for the entry

	target string  // as the client wrote it
	raw    rawPath // as the client escaped it

	status    int
	header    http.Header // of the response
	answered  bool
	body      Body
	transform []Transform
	before    []func(*Conn)
	after     []func(*Conn)
	values    []value
	err       error
	sent      int64
	trailers  bool // fields follow the body
	abort     bool // the connection is cut, so that nobody takes half a body for a whole one
}

// value is something that one component leaves for others.
type value struct{ key, value any }

// home is where an exchange comes back to: the goroutine of the request, which waits there.
type home struct {
	conn  *Conn    // the one that is valid: always the same but in a debug build
	batch [1]*Conn // what Put is given
	// from whoever ends the set-up (the last stage, the net's error function) -> to the request's
	// goroutine; capacity 1, never closed
	done chan struct{}
}

func newConn() *Conn {
	c := &Conn{home: &home{done: make(chan struct{}, 1)}}
	c.home.conn = c
	return c
}

// begin makes c carry a request.
func (c *Conn) begin(w http.ResponseWriter, r *http.Request) {
	c.w, c.r, c.orig, c.header, c.target = w, r, r, w.Header(), r.RequestURI
	c.home.conn, c.home.batch[0] = c, c
}

// reset lets go of everything but what the next exchange can use.
func (c *Conn) reset() {
	clear(c.transform)
	clear(c.before)
	clear(c.after)
	clear(c.values)
	*c = Conn{home: c.home, transform: c.transform[:0], before: c.before[:0], after: c.after[:0], values: c.values[:0]}
}

// Method is the request's method.
func (c *Conn) Method() string { c.own(); return c.r.Method }

// Path is the path of the request, decoded, in canonical form, as earlier components left it: it
// begins with a slash, and has no empty and no dot segment. Decisions are made on it.
func (c *Conn) Path() string { c.own(); return c.r.URL.Path }

// RawQuery is the query of the request as it came, without the question mark.
func (c *Conn) RawQuery() string { c.own(); return c.r.URL.RawQuery }

// Query is the first value of a parameter of the query, "" when there is none.
func (c *Conn) Query(name string) string { c.own(); return c.r.URL.Query().Get(name) }

// Target is the request's target as the client wrote it (RFC 9112 section 3.2); no component
// changes it. It is for logs: many targets mean one path, so decisions are made on [Conn.Path].
func (c *Conn) Target() string { c.own(); return c.target }

// Host is the host that was asked for, in lower case, with its port if that is not the scheme's; ""
// when there was none.
func (c *Conn) Host() string { c.own(); return c.r.Host }

// Proto is the version of the protocol that the client speaks, such as "HTTP/1.1".
func (c *Conn) Proto() string { c.own(); return c.r.Proto }

// ProtoAtLeast says whether the client speaks at least this version.
func (c *Conn) ProtoAtLeast(major, minor int) bool { c.own(); return c.r.ProtoAtLeast(major, minor) }

// RemoteAddr is the client's address, HOST:PORT.
func (c *Conn) RemoteAddr() string { c.own(); return c.r.RemoteAddr }

// Secure says whether the exchange came over TLS.
func (c *Conn) Secure() bool { c.own(); return c.r.TLS != nil }

// Context ends when the client has gone or the exchange is over.
func (c *Conn) Context() context.Context { c.own(); return c.r.Context() }

// RequestHeader is the first value of a field of the request's head, "" when there is none.
func (c *Conn) RequestHeader(name string) string { c.own(); return c.r.Header.Get(name) }

// RequestHeaders are all values of a field of the request's head. They must not be changed.
func (c *Conn) RequestHeaders(name string) []string { c.own(); return c.r.Header.Values(name) }

// Input is the body of the request.
func (c *Conn) Input() io.Reader { c.own(); return c.r.Body }

// InputSize is the length of the request's body in bytes, -1 when it was not told.
func (c *Conn) InputSize() int64 { c.own(); return c.r.ContentLength }

// LimitInput makes reading more than n bytes of the request's body an [http.MaxBytesError].
func (c *Conn) LimitInput(n int64) {
	c.own()
	c.changing().Body = http.MaxBytesReader(c.w, c.r.Body, n)
}

// SetRequestHeader changes the request for the components that follow. From then on the client has
// no say in the field: fields of the client whose names some programs take for the same are
// removed, and the client's Connection does not list it.
func (c *Conn) SetRequestHeader(name, value string) {
	c.own()
	h := c.changing().Header
	claim(h, name)
	h.Set(name, value)
}

// AddRequestHeader adds a field to the request for the components that follow, as SetRequestHeader
// does.
func (c *Conn) AddRequestHeader(name, value string) {
	c.own()
	h := c.changing().Header
	claim(h, name)
	h.Add(name, value)
}

// DelRequestHeader removes a field from the request for the components that follow, and fields
// whose names some programs take for the same.
func (c *Conn) DelRequestHeader(name string) {
	c.own()
	h := c.changing().Header
	claim(h, name)
	h.Del(name)
}

// Rewrite changes path and query for the components that follow. The path is decoded, the query is
// not. Empty and dot segments of the path are resolved.
func (c *Conn) Rewrite(path, rawQuery string) {
	c.own()
	r := c.changing()
	r.URL = &url.URL{Path: canonical.Resolve(path), RawQuery: rawQuery}
	c.raw = rawPath{lost: c.raw.lost || c.raw.slash}
}

// HTTPRequest is the request as package net/http sees it, with path and host in canonical form. It
// must not be changed; its body may be read.
func (c *Conn) HTTPRequest() *http.Request { c.own(); return c.r }

// WithContext gives the components that follow another context, which must be derived from
// [Conn.Context].
func (c *Conn) WithContext(ctx context.Context) { c.own(); c.r = c.changing().WithContext(ctx) }

// changing is the request as one that may be changed: what came belongs to the server.
func (c *Conn) changing() *http.Request {
	if c.r == c.orig {
		r := new(http.Request)
		*r = *c.orig
		r.Header = c.orig.Header.Clone()
		c.r = r
	}
	return c.r
}

// SetValue leaves something for other components under a key, which should be of a type of the
// package's own.
func (c *Conn) SetValue(key, v any) {
	c.own()
	for i := range c.values {
		if c.values[i].key == key {
			c.values[i].value = v
			return
		}
	}
	c.values = append(c.values, value{key, v})
}

// Value is what was left under a key, nil when nothing was.
func (c *Conn) Value(key any) any {
	c.own()
	for _, v := range c.values {
		if v.key == key {
			return v.value
		}
	}
	return nil
}

// Before has f called when the set-up is over and before the head is sent: last registered, first
// called, by the goroutine of the request. It may still change status, fields and body. It is
// called for lost exchanges too, but not for a connection that was taken over.
func (c *Conn) Before(f func(*Conn)) { c.own(); c.before = append(c.before, f) }

// After has f called when the exchange is over, however it ended: last registered, first called, by
// the goroutine of the request. Status, Sent, Err and the fields of both heads are then final.
func (c *Conn) After(f func(*Conn)) { c.own(); c.after = append(c.after, f) }

// Inform sends an informational response (RFC 9110 section 15.2) at once, with the fields set so
// far; status is 100 to 199, but not 101. A client of HTTP/1.0, which does not know such, gets
// none.
func (c *Conn) Inform(status int) {
	c.own()
	if c.orig.ProtoAtLeast(1, 1) {
		c.w.WriteHeader(status)
	}
}

// SetTrailer sets a field that follows the body. A stream, which comes later, has the function
// [SetTrailer] for it.
func (c *Conn) SetTrailer(name, value string) {
	c.own()
	c.trailers = true
	c.header.Set(http.TrailerPrefix+name, value)
}

// Hijack answers by taking the connection over: f is called with it in place of a response. Filters
// do not touch what passes then. Where the engine can't, as with HTTP/2 and HTTP/3, the exchange is
// answered by 501.
func (c *Conn) Hijack(f func(net.Conn, *bufio.ReadWriter)) {
	c.answer(Body{kind: rawBody, run: func(c *Conn) error {
		inner, rw, err := c.hijack()
		if err == nil {
			f(inner, rw)
		}
		return err
	}})
}

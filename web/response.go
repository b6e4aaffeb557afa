package web

import (
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
)

// Field is a field of a head that is made once and set many times.
type Field struct {
	name   string
	values []string
}

// NewField makes a field.
func NewField(name, value string) Field {
	return Field{textproto.CanonicalMIMEHeaderKey(name), []string{value}}
}

// Status is the status of the response so far, 0 when nobody has set one.
func (c *Conn) Status() int { c.own(); return c.status }

// SetStatus sets the status of the response, 200 to 599.
func (c *Conn) SetStatus(status int) { c.own(); c.status = status }

// Header is the first value of a field of the response's head, "" when there is none.
func (c *Conn) Header(name string) string { c.own(); return c.header.Get(name) }

// Headers are all values of a field of the response's head. They must not be changed.
func (c *Conn) Headers(name string) []string { c.own(); return c.header.Values(name) }

// SetHeader sets a field of the response's head.
func (c *Conn) SetHeader(name, value string) { c.own(); c.header.Set(name, value) }

// AddHeader adds a field to the response's head.
func (c *Conn) AddHeader(name, value string) { c.own(); c.header.Add(name, value) }

// DelHeader takes a field out of the response's head.
func (c *Conn) DelHeader(name string) { c.own(); c.header.Del(name) }

// Set sets a field of the response's head without allocating.
func (c *Conn) Set(f Field) { c.own(); c.header[f.name] = f.values }

// Vary adds a name to the field Vary, once (RFC 9110 section 12.5.5).
func (c *Conn) Vary(name string) {
	c.own()
	if !hasToken(c.header["Vary"], name) {
		c.header.Add("Vary", name)
	}
}

// Answered says whether a component has answered. Sources are not called then; filters and pipes
// are.
func (c *Conn) Answered() bool { c.own(); return c.answered }

// Answer gives the exchange its body; the status is 200 unless it is set. An answer that was there
// is replaced, and what filters had registered for it stays. The body that was there is closed,
// unless b was made of it by its own methods, as in c.Answer(c.Body().Closing(f)).
func (c *Conn) Answer(b Body) { c.own(); c.answer(b) }

func (c *Conn) answer(b Body) {
	if c.answered {
		if !b.madeOf(c.body) {
			c.discard()
		}
		delete(c.header, "Content-Length")
	}
	c.body, c.answered = b, true
}

// discard lets go of a body that another takes the place of. A panic on the way costs nothing more,
// and is kept for the log: the net's error function comes by here, and must not panic.
func (c *Conn) discard() {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler && c.err == nil {
			c.err = fmt.Errorf("web: a panic while a body was let go: %v", p)
		}
	}()
	c.body.close()
}

// Reply answers with a status and a short text that says what it means. What described an earlier
// body is taken back.
func (c *Conn) Reply(status int) { c.own(); c.Answer(c.Canned(status)) }

// Canned is what a source returns to say a status in a few words. What described an earlier body is
// taken back; if that was coded (RFC 9110 section 8.4), what filters had registered for it goes
// with that, since one of them may be what codes.
func (c *Conn) Canned(status int) Body {
	c.own()
	if c.header["Content-Encoding"] != nil {
		c.unfilter()
	}
	for _, name := range describesBody {
		delete(c.header, name)
	}
	c.status = status
	if !bodyAllowed(status) {
		return Body{}
	}
	c.Set(plainText)
	return String(strconv.Itoa(status) + " " + http.StatusText(status) + "\n")
}

var (
	describesBody = []string{"Content-Length", "Content-Encoding", "Content-Range", "Accept-Ranges", "Etag", "Last-Modified", "Cache-Control"}
	plainText     = NewField("Content-Type", "text/plain; charset=utf-8")
)

// Fail answers with a status and keeps the reason, which goes to the log and not to the client.
func (c *Conn) Fail(status int, why error) Body {
	c.own()
	c.err = why
	return c.Canned(status)
}

// Err is the reason of a failure, nil when there was none.
func (c *Conn) Err() error { c.own(); return c.err }

// SetErr keeps the reason of a failure.
func (c *Conn) SetErr(why error) { c.own(); c.err = why }

// Body is the answer's body, before what filters do to it.
func (c *Conn) Body() Body { c.own(); return c.body }

// Changed says whether a filter has registered for the body: what [Conn.Body] gives is not what is
// sent.
func (c *Conn) Changed() bool { c.own(); return len(c.transform) > 0 }

// Transform registers a change of the body, to be done when it is sent, after those registered
// before. The fields that no longer hold (Content-Length, a strong ETag, Accept-Ranges) are mended
// when the head is sent.
func (c *Conn) Transform(t Transform) { c.own(); c.transform = append(c.transform, t) }

// unfilter takes back what filters have registered.
func (c *Conn) unfilter() {
	clear(c.transform)
	c.transform = c.transform[:0]
}

// Sent is how many bytes of the body, as filters made it, have gone out: to the kernel for bytes
// and files over HTTP/1 of web/server, to the engine otherwise. It is final for functions of
// [Conn.After]; of a body that broke off it is what went before.
func (c *Conn) Sent() int64 { c.own(); return c.sent }

// lost makes the exchange one that a stage lost: what the client gets says no more than that.
func (c *Conn) lost(status int, why error) {
	c.answer(c.Fail(status, why))
	c.unfilter()
	if status == http.StatusServiceUnavailable {
		c.SetHeader("Retry-After", "1")
	}
}

func (c *Conn) String() string {
	return fmt.Sprintf("%s %s: %d", c.orig.Method, c.orig.RequestURI, c.status)
}

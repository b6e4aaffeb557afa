package web

import (
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
)

// Field is a header field that is made once and set many times.
type Field struct {
	name   string
	values []string
}

// NewField returns a field.
func NewField(name, value string) Field {
	return Field{textproto.CanonicalMIMEHeaderKey(name), []string{value}}
}

// Status returns the status of the response so far, or 0 if none is set.
func (c *Conn) Status() int { c.assertOwned(); return c.status }

// SetStatus sets the status of the response, 200 to 599.
func (c *Conn) SetStatus(status int) { c.assertOwned(); c.status = status }

// Header returns the first value of a response field, or "".
func (c *Conn) Header(name string) string { c.assertOwned(); return value(c.header, name) }

// Headers returns all values of a response field. The caller must not change them.
func (c *Conn) Headers(name string) []string { c.assertOwned(); return values(c.header, name) }

// SetHeader sets a response field.
func (c *Conn) SetHeader(name, value string) { c.assertOwned(); c.header.Set(name, value) }

// SetHeaders sets all values of a response field, which the caller must not change any more.
func (c *Conn) SetHeaders(name string, values []string) {
	c.assertOwned()
	if !isCanonicalName(name) {
		name = http.CanonicalHeaderKey(name)
	}
	c.header[name] = values
}

// AddHeader adds a value to a response field.
func (c *Conn) AddHeader(name, value string) { c.assertOwned(); c.header.Add(name, value) }

// DelHeader removes a response field.
func (c *Conn) DelHeader(name string) { c.assertOwned(); c.header.Del(name) }

// SetField sets a response field without allocating.
func (c *Conn) SetField(f Field) { c.assertOwned(); c.header[f.name] = f.values }

// Vary adds a name to the field Vary unless it is there (RFC 9110, section 12.5.5).
func (c *Conn) Vary(name string) {
	c.assertOwned()
	vary := c.header["Vary"]
	switch {
	case vary == nil && name == "Accept-Encoding": // the usual case does not allocate
		c.header["Vary"] = varyAcceptEncoding
	case !hasToken(vary, name):
		c.header["Vary"] = append(vary[:len(vary):len(vary)], name)
	}
}

var varyAcceptEncoding = []string{"Accept-Encoding"}

// Answered reports whether a component has answered the exchange. Filters and pipes still run then,
// sources do not.
func (c *Conn) Answered() bool { c.assertOwned(); return c.answered }

// Answer sets the exchange's body; the status is 200 unless it is set. It replaces an earlier
// answer, but filters that were registered for that one stay. It closes the earlier body, unless b
// was derived from that, as in c.Answer(c.Body().OnClose(f)).
func (c *Conn) Answer(b Body) { c.assertOwned(); c.setAnswer(b) }

func (c *Conn) setAnswer(b Body) {
	if c.answered {
		if !b.derivedFrom(c.body) {
			c.discardBody()
		}
		delete(c.header, "Content-Length")
	}
	c.body, c.answered = b, true
}

// discardBody closes a body that is replaced. It recovers a panic and keeps it for the log, since
// the net's error function, which must not panic, calls it.
func (c *Conn) discardBody() {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler && c.err == nil {
			c.err = fmt.Errorf("web: a panic while a body was closed: %v", p)
		}
	}()
	c.body.close()
}

// Reply answers with a status and a short text that names it. It removes the fields that describe
// an earlier body.
func (c *Conn) Reply(status int) { c.assertOwned(); c.Answer(c.StatusBody(status)) }

// StatusBody sets the status and returns a short text that names it, for a source to return. It
// removes the fields that describe an earlier body. If that body was coded (RFC 9110, section 8.4),
// it also removes the registered transforms, since one of them may do the coding.
func (c *Conn) StatusBody(status int) Body {
	c.assertOwned()
	if c.header["Content-Encoding"] != nil {
		c.removeTransforms()
	}
	for _, name := range describesBody {
		delete(c.header, name)
	}
	c.status = status
	if !bodyAllowed(status) {
		return Body{}
	}
	c.SetField(plainText)
	return String(strconv.Itoa(status) + " " + http.StatusText(status) + "\n")
}

var (
	describesBody = []string{"Content-Length", "Content-Encoding", "Content-Range", "Accept-Ranges", "Etag", "Last-Modified", "Cache-Control"}
	plainText     = NewField("Content-Type", "text/plain; charset=utf-8")
)

// Fail answers with a status and stores the reason, which is logged but not sent to the client.
func (c *Conn) Fail(status int, why error) Body {
	c.assertOwned()
	c.err = why
	return c.StatusBody(status)
}

// Err returns the reason of a failure, or nil.
func (c *Conn) Err() error { c.assertOwned(); return c.err }

// SetErr stores the reason of a failure.
func (c *Conn) SetErr(why error) { c.assertOwned(); c.err = why }

// Body returns the answer's body before transforms change it.
func (c *Conn) Body() Body { c.assertOwned(); return c.body }

// HasTransform reports whether a filter has registered a transform: the result of [Conn.Body] is
// not what is sent then.
func (c *Conn) HasTransform() bool { c.assertOwned(); return len(c.transforms) > 0 }

// Transform registers a change of the body, which is applied while it is sent, after those
// registered before. When the head is sent, fields that no longer hold are corrected:
// Content-Length, a strong ETag, Accept-Ranges.
func (c *Conn) Transform(t Transform) { c.assertOwned(); c.transforms = append(c.transforms, t) }

// removeTransforms removes the transforms that filters have registered.
func (c *Conn) removeTransforms() {
	clear(c.transforms)
	c.transforms = c.transforms[:0]
}

// Sent returns how many bytes of the body were sent, after transforms: to the kernel for bytes and
// files over HTTP/1 of web/server, to the engine otherwise. It is final in functions of
// [Conn.After]. For a truncated body it counts the bytes before the truncation.
func (c *Conn) Sent() int64 { c.assertOwned(); return c.sentBytes }

// failWith answers an exchange that the net dropped. The client receives the status only.
func (c *Conn) failWith(status int, why error) {
	c.setAnswer(c.Fail(status, why))
	c.removeTransforms()
	if status == http.StatusServiceUnavailable {
		c.SetHeader("Retry-After", "1")
	}
}

func (c *Conn) String() string {
	return fmt.Sprintf("%s %s: %d", c.orig.Method, c.orig.RequestURI, c.status)
}

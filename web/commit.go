package web

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/web/internal/conn"
)

// commit sends the response. The body and its filters are known now, so commit decides length,
// validators, conditions and ranges.
func (c *Conn) commit() {
	if c.abortConn {
		panic(http.ErrAbortHandler)
	}
	if !c.answered {
		c.setAnswer(c.StatusBody(http.StatusNotFound))
	}
	if c.body.kind == hijackBody {
		err := c.body.hijack(c)
		if err == nil {
			return
		}
		c.failWith(http.StatusNotImplemented, err) // the engine cannot hijack
	}
	if c.status == 0 {
		c.status = http.StatusOK
	}
	for len(c.beforeHead) > 0 {
		f := c.beforeHead[len(c.beforeHead)-1]
		c.beforeHead = c.beforeHead[:len(c.beforeHead)-1]
		f(c)
	}
	c.setBodyFields()
	if c.hasPrecondition() {
		c.evaluatePreconditions()
	}
	switch {
	case c.orig.Method == http.MethodHead || !bodyAllowed(c.status):
		c.w.WriteHeader(c.status)
	case c.orig.Method == http.MethodGet && c.status == http.StatusOK && c.orig.Header["Range"] != nil && c.canSendRanges():
		c.sendRange()
	default:
		c.send(c.body)
	}
}

// setBodyFields sets the fields that describe the body.
func (c *Conn) setBodyFields() {
	h := c.header
	if len(c.transforms) > 0 {
		delete(h, "Content-Length")
		delete(h, "Accept-Ranges")
		if tag := h["Etag"]; len(tag) > 0 && !strings.HasPrefix(tag[0], "W/") {
			h["Etag"] = []string{"W/" + tag[0]}
		}
		return
	}
	if !bodyAllowed(c.status) {
		delete(h, "Content-Length")
		return
	}
	if c.hasTrailers {
		delete(h, "Content-Length")
	} else if c.body.size >= 0 && (c.body.kind == streamBody || c.orig.Method == http.MethodHead) && h["Content-Length"] == nil {
		h["Content-Length"] = []string{strconv.FormatInt(c.body.size, 10)}
	}
	if c.status == http.StatusOK && c.canSendRanges() {
		c.SetField(acceptRanges)
	}
	if data, ok := c.body.Bytes(); ok && len(data) > 0 && h["Content-Type"] == nil && h["Content-Encoding"] == nil {
		h["Content-Type"] = []string{http.DetectContentType(data)}
	}
}

var acceptRanges = NewField("Accept-Ranges", "bytes")

// canSendRanges reports whether ranges of the body can be sent. A source that sends a range of its
// own excludes that.
func (c *Conn) canSendRanges() bool {
	return len(c.transforms) == 0 && (c.body.kind == bytesBody || c.body.kind == fileBody) && c.header["Content-Range"] == nil && c.header["Etag"] != nil
}

// bodyAllowed reports whether a response with this status has content (RFC 9110, section 6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// removeBody drops the body and the fields that describe it, and sets the status.
func (c *Conn) removeBody(status int) {
	c.discardBody()
	c.removeTransforms()
	c.status = status
	for _, name := range [...]string{"Content-Length", "Content-Type", "Content-Encoding", "Accept-Ranges"} {
		delete(c.header, name)
	}
}

// sendRange sends the requested range of the body (RFC 9110, section 14).
func (c *Conn) sendRange() {
	asked := c.orig.Header["Range"][0]
	ranges := normalizeRanges(asked)
	if ranges == nil || !strings.HasPrefix(asked, "bytes=") || !c.ifRangeHolds() {
		c.send(c.body) // a malformed Range, or one of another unit, is ignored
		return
	}
	from, n, ok := singleRange(ranges, c.body.size)
	switch {
	case ok && n == 0:
		size := c.body.size
		c.setAnswer(c.StatusBody(http.StatusRequestedRangeNotSatisfiable))
		c.SetHeader("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
		c.send(c.body)
		return
	case ok:
		c.status = http.StatusPartialContent
		c.header["Content-Range"] = []string{contentRange(from, n, c.body.size)}
		c.send(c.body.section(from, n))
		return
	}
	// several ranges; the preconditions are evaluated already
	only := &http.Request{Method: http.MethodGet, Header: http.Header{"Range": ranges}}
	http.ServeContent(statusWriter{c.w, c}, only, "", time.Time{}, c.body.readSeeker())
}

// statusWriter records in the exchange what http.ServeContent sends.
type statusWriter struct {
	http.ResponseWriter
	c *Conn
}

func (w statusWriter) WriteHeader(status int) {
	w.c.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w statusWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.c.sentBytes += int64(n)
	return n, err
}

// send sends head and body, in one write if possible. If the body cannot be sent whole, send closes
// the connection.
func (c *Conn) send(b Body) {
	var err error
	out := output{c: c}
	switch {
	case len(c.transforms) > 0:
		c.w.WriteHeader(c.status)
		err = out.sendThrough(c.transforms, b)
	case b.kind == bytesBody && !c.hasTrailers:
		c.sentBytes, err = conn.From(c.orig.Context()).Respond(c.w, c.status, b.data)
	case b.kind == fileBody && !c.hasTrailers:
		c.sentBytes, err = conn.From(c.orig.Context()).RespondFile(c.w, c.status, b.file, b.offset, b.size, b.verify)
	default:
		c.w.WriteHeader(c.status)
		err = b.writeTo(&out)
	}
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		panic(http.ErrAbortHandler)
	}
}

// hijack takes over the connection.
func (c *Conn) hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(c.w).Hijack()
}

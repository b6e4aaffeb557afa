package web

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"weir/web/internal/conn"
)

// commit sends the response of an exchange: one request with its response, which a [Conn] carries.
// The body and its transforms are known now, so commit decides length, validators, preconditions
// and ranges. It reads the request from c.orig, as the client sent it: components may have
// rewritten the copy in c.r.
func (c *Conn) commit() {
	if c.abortConn {
		panic(http.ErrAbortHandler)
	}
	if !c.answered {
		c.setAnswer(c.StatusBody(http.StatusNotFound))
	}
	if c.body.kind != bytesBody || len(c.transforms) > 0 {
		c.leaveLoop() // a stream may wait, a file may have to be read from a disk
	}
	if c.body.kind == hijackBody {
		err := c.body.hijack(c)
		if err == nil {
			return
		}
		c.failWith(http.StatusNotImplemented, err) // net/http cannot hijack, as with HTTP/2
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

// setBodyFields sets the header fields that describe the body. With transforms the length and the
// bytes are not known in advance: there is no Content-Length, and the entity tag becomes weak.
// Content-Length is set here for streams, and in response to HEAD. For other bodies of bytes and
// files, [conn.Conn.Respond] and [conn.Conn.RespondFile] set it.
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

// canSendRanges reports whether ranges of the body can be sent. The body must be bytes or a file
// that no transform changes. It must have an entity tag, so that a client does not combine ranges
// of different versions. If the source has set Content-Range, the body is a range already.
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

// sendRange responds to a request with a Range field (RFC 9110, section 14). It sends the requested
// ranges of the body with status 206. It sends status 416 if the body has no such range. It ignores
// Range and sends the whole body if the field is malformed, has another unit than bytes, or if
// If-Range names another version of the body.
func (c *Conn) sendRange() {
	asked := c.orig.Header["Range"][0]
	ranges := normalizeRanges(asked)
	if ranges == nil || !strings.HasPrefix(asked, "bytes=") || !c.ifRangeHolds() {
		c.send(c.body)
		return
	}
	from, n, ok := singleRange(ranges, c.body.size)
	switch {
	case ok && n == 0: // not satisfiable
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
	// Several ranges are left to net/http. Its request has no preconditions: commit has evaluated
	// them.
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
// the connection. A file's verify is its check of [Body.Checked].
func (c *Conn) send(b Body) {
	var err error
	out := output{c: c}
	switch {
	case len(c.transforms) > 0:
		c.w.WriteHeader(c.status)
		err = out.sendThrough(c.transforms, b)
	case b.kind == bytesBody && !c.hasTrailers:
		if r, ok := c.w.(responder); ok {
			c.sentBytes, err = r.Respond(c.status, b.data)
		} else {
			c.sentBytes, err = conn.From(c.orig.Context()).Respond(c.w, c.status, b.data)
		}
	case b.kind == fileBody && !c.hasTrailers:
		if r, ok := c.w.(responder); ok {
			c.sentBytes, err = r.RespondFile(c.status, b.file, b.offset, b.size, b.verify)
		} else {
			c.sentBytes, err = conn.From(c.orig.Context()).RespondFile(c.w, c.status, b.file, b.offset, b.size, b.verify)
		}
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

// responder is the writer of an engine that sends head and content together.
type responder interface {
	Respond(status int, content []byte) (sent int64, err error)
	RespondFile(status int, f *os.File, offset, length int64, verify func() error) (sent int64, err error)
}

// hijack takes over the connection.
func (c *Conn) hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(c.w).Hijack()
}

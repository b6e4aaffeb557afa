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

// commit sends the response. Everything that depends on what filters do to the body is decided
// here, when it is known: length, validators, conditions and ranges.
func (c *Conn) commit() {
	if c.abort {
		panic(http.ErrAbortHandler)
	}
	if !c.answered {
		c.answer(c.Canned(http.StatusNotFound))
	}
	if c.body.kind == rawBody {
		err := c.body.run(c)
		if err == nil {
			return
		}
		c.lost(http.StatusNotImplemented, err) // the engine has not given the connection
	}
	if c.status == 0 {
		c.status = http.StatusOK
	}
	for len(c.before) > 0 {
		f := c.before[len(c.before)-1]
		c.before = c.before[:len(c.before)-1]
		f(c)
	}
	c.describe()
	if c.conditional() {
		c.condition()
	}
	switch {
	case c.orig.Method == http.MethodHead || !bodyAllowed(c.status):
		c.w.WriteHeader(c.status)
	case c.orig.Method == http.MethodGet && c.status == http.StatusOK && c.orig.Header["Range"] != nil && c.hasParts():
		c.sendRange()
	default:
		c.send(c.body)
	}
}

// describe sets the fields that say what the body is.
func (c *Conn) describe() {
	h := c.header
	if len(c.transform) > 0 {
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
	if c.trailers {
		delete(h, "Content-Length")
	} else if c.body.size >= 0 && (c.body.kind == streamBody || c.orig.Method == http.MethodHead) && h["Content-Length"] == nil {
		h["Content-Length"] = []string{strconv.FormatInt(c.body.size, 10)}
	}
	if c.status == http.StatusOK && c.hasParts() {
		c.Set(acceptRanges)
	}
	if data, ok := c.body.Bytes(); ok && len(data) > 0 && h["Content-Type"] == nil && h["Content-Encoding"] == nil {
		h["Content-Type"] = []string{http.DetectContentType(data)}
	}
}

var acceptRanges = NewField("Accept-Ranges", "bytes")

// hasParts says whether ranges of the body can be sent. The body of a source that has made a part
// of its own cannot.
func (c *Conn) hasParts() bool {
	return len(c.transform) == 0 && (c.body.kind == bytesBody || c.body.kind == fileBody) && c.header["Content-Range"] == nil && c.header["Etag"] != nil
}

// bodyAllowed says whether a response with this status has a body (RFC 9110 section 6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// drop makes the response one without the body it had.
func (c *Conn) drop(status int) {
	c.discard()
	c.unfilter()
	c.status = status
	for _, name := range [...]string{"Content-Length", "Content-Type", "Content-Encoding", "Accept-Ranges"} {
		delete(c.header, name)
	}
}

// sendRange sends the part of the body that was asked for (RFC 9110 section 14).
func (c *Conn) sendRange() {
	asked := c.orig.Header["Range"][0]
	ranges := rangeSet(asked)
	if ranges == nil || !strings.HasPrefix(asked, "bytes=") || !c.ifRange() {
		c.send(c.body) // what is malformed, or of another unit, is ignored
		return
	}
	from, n, ok := singleRange(ranges, c.body.size)
	switch {
	case ok && n == 0:
		size := c.body.size
		c.answer(c.Canned(http.StatusRequestedRangeNotSatisfiable))
		c.SetHeader("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
		c.send(c.body)
		return
	case ok:
		c.status = http.StatusPartialContent
		c.header["Content-Range"] = []string{contentRange(from, n, c.body.size)}
		c.send(c.body.part(from, n))
		return
	}
	// its conditions are decided
	only := &http.Request{Method: http.MethodGet, Header: http.Header{"Range": ranges}}
	http.ServeContent(statusWriter{c.w, c}, only, "", time.Time{}, c.body.seeker())
}

// statusWriter tells the exchange what another writes for it.
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
	w.c.sent += int64(n)
	return n, err
}

// send sends head and body, in one write where that can be. What can't be sent whole cuts the
// connection.
func (c *Conn) send(b Body) {
	var err error
	out := output{c: c}
	switch {
	case len(c.transform) > 0:
		c.w.WriteHeader(c.status)
		err = out.through(c.transform, b)
	case b.kind == bytesBody && !c.trailers:
		c.sent, err = conn.From(c.orig.Context()).Respond(c.w, c.status, b.data)
	case b.kind == fileBody && !c.trailers:
		c.sent, err = conn.From(c.orig.Context()).RespondFile(c.w, c.status, b.file, b.from, b.size, b.same)
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

// hijack takes the connection over.
func (c *Conn) hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(c.w).Hijack()
}

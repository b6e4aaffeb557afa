package proxy

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
)

// errUnwanted ends the copy of a body that is not sent, for example after a HEAD request, when the
// client's cached response is still valid (304), or when a later component has answered instead.
var errUnwanted = errors.New("proxy: the body is not wanted")

// writer is the response writer that [httputil.ReverseProxy] writes the upstream's response to. It
// passes the response on to the response writer of [web.FromHTTP], which belongs to an exchange:
// one client's request with its response.
//
// Package web answers an exchange in two phases. In the setup phase its components set the status
// and the header fields; any of them may still change the response. In the content phase the head
// has been sent, and only the body is written. [web.FromHTTP] runs ReverseProxy as a coroutine: in
// the setup phase until it has a status, and in the content phase from then on.
//
// ReverseProxy calls Flush from a timer, in another goroutine, as soon as WriteHeader has returned.
// In the setup phase that would be a data race with the components. So WriteHeader returns only
// when the content phase has begun.
type writer struct {
	web http.ResponseWriter // the response writer of [web.FromHTTP]
	// The upstream's fields, until the header is written. web.Header() has the fields that
	// components before the proxy have set.
	upstreamHeader http.Header
	headerWritten  bool // WriteHeader was called with the final status
	x              *exchange
}

// Header implements [http.ResponseWriter]. Before the header is written, it returns the upstream's
// fields. Afterwards it returns those of the response, to which ReverseProxy adds the trailers.
func (w *writer) Header() http.Header {
	if w.headerWritten {
		return w.web.Header()
	}
	return w.upstreamHeader
}

// WriteHeader implements [http.ResponseWriter]. With the final status it waits for the content
// phase.
//
// An informational response (1xx) is sent at once, with the upstream's fields only. The goroutine
// that reads from the upstream calls WriteHeader for it. Meanwhile the exchange's goroutine waits
// for that goroutine, so no lock is needed.
func (w *writer) WriteHeader(status int) {
	h := w.web.Header()
	if status < 200 {
		kept := maps.Clone(h) // fields that components before the proxy have set
		clear(h)
		maps.Copy(h, w.upstreamHeader)
		w.web.WriteHeader(status)
		clear(h)
		maps.Copy(h, kept)
		return
	}
	for name, values := range w.upstreamHeader {
		// fields of both apply; otherwise the upstream's do
		if name == "Vary" || name == "Set-Cookie" {
			values = append(slices.Clone(h[name]), values...)
		}
		h[name] = values
	}
	w.headerWritten = true
	w.web.WriteHeader(status)
	var body bodyProbe
	_, _ = w.web.(io.ReaderFrom).ReadFrom(&body) // waits for the content phase
	if w.x.bodyUnwanted = !body.wanted; w.x.bodyUnwanted {
		w.x.responseBody.Close()
	}
}

// Write implements [http.ResponseWriter]. It is called in the content phase only.
func (w *writer) Write(p []byte) (int, error) {
	if w.x.bodyUnwanted {
		return 0, errUnwanted
	}
	return w.web.Write(p)
}

// Flush implements [http.Flusher]. It is called in the content phase only, also from a timer.
func (w *writer) Flush() {
	if !w.x.bodyUnwanted {
		w.web.(http.Flusher).Flush()
	}
}

// Hijack implements [http.Hijacker]. It waits for the content phase. ReverseProxy afterwards writes
// Header() to the connection itself. So the fields that components before the proxy have set are
// added to the upstream's.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.x.hijacked = true
	c, rw, err := http.NewResponseController(w.web).Hijack() // waits for the content phase
	for name, values := range w.web.Header() {
		if w.upstreamHeader[name] == nil {
			w.upstreamHeader[name] = values
		}
	}
	return c, rw, err
}

// bodyProbe is an empty body that records whether the response's body will be sent. The ReadFrom of
// [web.FromHTTP]'s response writer waits for the content phase. Then it calls WriteTo if the body
// is sent, and returns an error without calling it if not.
type bodyProbe struct{ wanted bool }

// WriteTo implements [io.WriterTo]. It writes nothing.
func (p *bodyProbe) WriteTo(io.Writer) (int64, error) {
	p.wanted = true
	return 0, nil
}

// Read implements [io.Reader]. It is not called, because bodyProbe has WriteTo.
func (p *bodyProbe) Read([]byte) (int, error) { return 0, io.EOF }

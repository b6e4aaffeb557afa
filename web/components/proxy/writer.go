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

// errUnwanted ends the copy of a body that is not sent: the client has it already, or a later
// component has answered.
var errUnwanted = errors.New("proxy: the body is not wanted")

// writer connects [httputil.ReverseProxy] to the exchange. It keeps the upstream's fields apart
// from those that earlier components have set. It enters the content phase when the header has
// arrived, so that what ReverseProxy does from a timer, such as flushing, happens when that is
// safe.
type writer struct {
	web            http.ResponseWriter // of [web.FromHTTP]
	upstreamHeader http.Header         // the upstream's fields, until the header is written
	// the header has been written
	headerWritten bool
	x             *exchange
}

// Header implements [http.ResponseWriter]. After the header it returns the trailers.
func (w *writer) Header() http.Header {
	if w.headerWritten {
		return w.web.Header()
	}
	return w.upstreamHeader
}

// WriteHeader implements [http.ResponseWriter]. For informational responses, the goroutine that
// reads from the upstream calls it, while the exchange's goroutine waits for that one.
func (w *writer) WriteHeader(status int) {
	h := w.web.Header()
	if status < 200 {
		kept := maps.Clone(h)
		clear(h)
		maps.Copy(h, w.upstreamHeader)
		w.web.WriteHeader(status)
		clear(h)
		maps.Copy(h, kept)
		return
	}
	for name, values := range w.upstreamHeader {
		if name == "Vary" || name == "Set-Cookie" {
			values = append(slices.Clone(h[name]), values...)
		}
		h[name] = values
	}
	w.headerWritten = true
	w.web.WriteHeader(status)
	var to probe
	_, _ = w.web.(io.ReaderFrom).ReadFrom(&to) // returns in the content phase
	if w.x.bodyUnwanted = !to.wanted; w.x.bodyUnwanted {
		w.x.responseBody.Close()
	}
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	if w.x.bodyUnwanted {
		return 0, errUnwanted
	}
	return w.web.Write(p)
}

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	if !w.x.bodyUnwanted {
		w.web.(http.Flusher).Flush()
	}
}

// Hijack implements [http.Hijacker]. The caller writes the header afterwards.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.x.hijacked = true
	c, rw, err := http.NewResponseController(w.web).Hijack() // returns in the content phase
	for name, values := range w.web.Header() {
		if w.upstreamHeader[name] == nil {
			w.upstreamHeader[name] = values
		}
	}
	return c, rw, err
}

// probe is an empty body that finds out whether the response's body is wanted.
type probe struct{ wanted bool }

// WriteTo implements [io.WriterTo].
func (p *probe) WriteTo(w io.Writer) (int64, error) {
	p.wanted = w != io.Discard
	return 0, nil
}

// Read implements [io.Reader].
func (p *probe) Read([]byte) (int, error) { return 0, io.EOF }

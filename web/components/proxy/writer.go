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

// errUnwanted ends the copy of a body that is not sent: the client knows it already, or a later
// component has answered.
var errUnwanted = errors.New("proxy: the body is not wanted")

// writer stands between [httputil.ReverseProxy] and the exchange. It keeps the fields of an
// upstream's heads apart from those that earlier components have set, and hands over to the content
// phase when the head has come: what ReverseProxy does from a timer, such as flushing, it does
// later, when that is safe.
type writer struct {
	web    http.ResponseWriter // of [web.FromHTTP]
	own    http.Header         // of the head to come
	headed bool
	x      *exchange
}

// Header implements [http.ResponseWriter]: behind the head, it is for trailers.
func (w *writer) Header() http.Header {
	if w.headed {
		return w.web.Header()
	}
	return w.own
}

// WriteHeader implements [http.ResponseWriter]. For informational responses it is called by the
// goroutine that reads from the upstream, while the exchange's own waits for that.
func (w *writer) WriteHeader(status int) {
	h := w.web.Header()
	if status < 200 {
		kept := maps.Clone(h)
		clear(h)
		maps.Copy(h, w.own)
		w.web.WriteHeader(status)
		clear(h)
		maps.Copy(h, kept)
		return
	}
	for name, values := range w.own {
		if name == "Vary" || name == "Set-Cookie" {
			values = append(slices.Clone(h[name]), values...)
		}
		h[name] = values
	}
	w.headed = true
	w.web.WriteHeader(status)
	var to probe
	_, _ = w.web.(io.ReaderFrom).ReadFrom(&to) // returns in the content phase
	if w.x.unwanted = !to.wanted; w.x.unwanted {
		w.x.body.Close()
	}
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	if w.x.unwanted {
		return 0, errUnwanted
	}
	return w.web.Write(p)
}

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	if !w.x.unwanted {
		w.web.(http.Flusher).Flush()
	}
}

// Hijack implements [http.Hijacker]: the head is still to be written, by who takes the connection
// over.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.x.raw = true
	c, rw, err := http.NewResponseController(w.web).Hijack() // returns in the content phase
	for name, values := range w.web.Header() {
		if w.own[name] == nil {
			w.own[name] = values
		}
	}
	return c, rw, err
}

// probe is an empty body, which learns whether there is somebody who takes what follows.
type probe struct{ wanted bool }

// WriteTo implements [io.WriterTo].
func (p *probe) WriteTo(w io.Writer) (int64, error) {
	p.wanted = w != io.Discard
	return 0, nil
}

// Read implements [io.Reader].
func (p *probe) Read([]byte) (int, error) { return 0, io.EOF }

package proxy

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"

	"weir/web/internal/conn"
)

// watched is the body of a response. What goes wrong with it is the upstream's fault, unless the client has gone.
type watched struct {
	io.ReadCloser
	x     *exchange
	ctx   context.Context
	stops <-chan struct{} // closed when the server begins to stop; nil where that is nothing to the body
	done  chan struct{}   // closed by Close
}

// watchBody notes why a body breaks off, and ends one that has no end of its own when the server stops.
func (x *exchange) watchBody(resp *http.Response) error {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	b := &watched{ReadCloser: resp.Body, x: x, ctx: resp.Request.Context()}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		if b.stops = conn.Stopping(b.ctx); b.stops != nil {
			b.done = make(chan struct{})
			go b.end() // until Close, which ReverseProxy calls
		}
	}
	resp.Body = b
	return nil
}

// end has reading end when the server stops.
func (b *watched) end() {
	select {
	case <-b.stops:
		_ = b.ReadCloser.Close()
	case <-b.done:
	}
}

// Read implements [io.Reader].
func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil || err == io.EOF || b.x.unwanted {
		return n, err
	}
	select {
	case <-b.stops:
		return n, io.EOF // a clean end: the client comes again
	default:
	}
	b.x.err = fmt.Errorf("proxy: %s: %w", b.x.upstream.reading.Name, err)
	if b.ctx.Err() == nil {
		b.x.broken = b.x.err
	}
	return n, err
}

// Close implements [io.Closer]; it is called once.
func (b *watched) Close() error {
	if b.done != nil {
		close(b.done)
	}
	return b.ReadCloser.Close()
}

package proxy

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"weir/web/internal/conn"
)

// watched is the body of a response. What goes wrong with it is the upstream's fault, unless the
// client has gone.
type watched struct {
	io.ReadCloser
	x   *exchange
	ctx context.Context
	// closed when the server begins to stop; nil where that is nothing to the body
	stops <-chan struct{}
	done  chan struct{} // closed by Close

	limit   *time.Timer // runs while the upstream is waited for; nil: for ever
	stalled atomic.Bool // it ran out, and the body is closed
}

// watchBody notes why a body breaks off, and ends one that has no end of its own when the server
// stops.
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
	} else if x.p.idle > 0 {
		b.limit = time.AfterFunc(x.p.idle, b.giveUp)
		b.limit.Stop() // until somebody reads
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

// giveUp has reading end with an error, and the upstream's connection with it.
func (b *watched) giveUp() {
	b.stalled.Store(true)
	_ = b.ReadCloser.Close()
}

// wait reads, for as long as the upstream may be silent.
func (b *watched) wait(p []byte) (int, error) {
	if b.limit == nil {
		return b.ReadCloser.Read(p)
	}
	b.limit.Reset(b.x.p.idle)
	n, err := b.ReadCloser.Read(p)
	b.limit.Stop()
	if err != nil && b.stalled.Load() {
		err = fmt.Errorf("nothing came for %v", b.x.p.idle)
	}
	return n, err
}

// Read implements [io.Reader].
func (b *watched) Read(p []byte) (int, error) {
	n, err := b.wait(p)
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
	if b.limit != nil {
		b.limit.Stop()
	}
	return b.ReadCloser.Close()
}

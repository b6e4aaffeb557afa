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

// responseBody is the body of a response. It records errors as the upstream's, unless the client
// has disconnected.
type responseBody struct {
	io.ReadCloser
	x   *exchange
	ctx context.Context
	// closed when the server begins to stop; nil: the body ends by itself
	serverStopping <-chan struct{}
	done           chan struct{} // closed by Close

	limit   *time.Timer // runs while a read waits for the upstream; nil: no limit
	stalled atomic.Bool // limit expired, and the body was closed
}

// watchBody wraps the response's body, to record why it is incomplete. It ends an event stream when
// the server stops.
func (x *exchange) watchBody(resp *http.Response) error {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	b := &responseBody{ReadCloser: resp.Body, x: x, ctx: resp.Request.Context()}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		if b.serverStopping = conn.Stopping(b.ctx); b.serverStopping != nil {
			b.done = make(chan struct{})
			go b.endOnStop() // until Close, which ReverseProxy calls
		}
	} else if x.p.idleTimeout > 0 {
		b.limit = time.AfterFunc(x.p.idleTimeout, b.abort)
		b.limit.Stop() // until the first Read
	}
	resp.Body = b
	return nil
}

// endOnStop closes the body when the server stops.
func (b *responseBody) endOnStop() {
	select {
	case <-b.serverStopping:
		_ = b.ReadCloser.Close()
	case <-b.done:
	}
}

// abort closes the body and with it the upstream's connection; the read returns an error.
func (b *responseBody) abort() {
	b.stalled.Store(true)
	_ = b.ReadCloser.Close()
}

// readWithLimit reads, with the limit on how long the upstream may send nothing.
func (b *responseBody) readWithLimit(p []byte) (int, error) {
	if b.limit == nil {
		return b.ReadCloser.Read(p)
	}
	b.limit.Reset(b.x.p.idleTimeout)
	n, err := b.ReadCloser.Read(p)
	b.limit.Stop()
	if err != nil && b.stalled.Load() {
		err = fmt.Errorf("the upstream sent no data for %v", b.x.p.idleTimeout)
	}
	return n, err
}

// Read implements [io.Reader].
func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.readWithLimit(p)
	if err == nil || err == io.EOF || b.x.bodyUnwanted {
		return n, err
	}
	select {
	case <-b.serverStopping:
		return n, io.EOF // a clean end: the client reconnects
	default:
	}
	b.x.err = fmt.Errorf("proxy: %s: %w", b.x.upstream.reading.Name, err)
	if b.ctx.Err() == nil {
		b.x.upstreamErr = b.x.err
	}
	return n, err
}

// Close implements [io.Closer]. It is called once.
func (b *responseBody) Close() error {
	if b.done != nil {
		close(b.done)
	}
	if b.limit != nil {
		b.limit.Stop()
	}
	return b.ReadCloser.Close()
}

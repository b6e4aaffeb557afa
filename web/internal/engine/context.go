package engine

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// requestContext is the context of an exchange's request. Most exchanges end before a caller asks
// for its channel, so it makes a context that can be canceled, and watches for a client that
// disconnects, only then.
type requestContext struct {
	base     context.Context
	standIn  *http.Server // of the server
	exchange *exchange
	local    net.Conn // of the exchange, for its address

	mu          sync.Mutex // guards what follows
	cancelable  context.Context
	cancel      context.CancelFunc
	contentRead bool // nothing of the request is left to read
	watchable   bool // other goroutines may read the connection
	ended       bool
	watch       *leaveWatch // nil: there is none
}

// start prepares the context for a request.
func (c *requestContext) start(x *exchange, contentRead bool) {
	config := &x.conn.server.config
	c.base, c.exchange, c.local, c.ended = config.Base, x, x.conn.conn, false
	c.standIn = x.conn.server.standIn
	c.contentRead, c.watchable = contentRead, config.LeaveLoop == nil
}

// setWatchable is called when other goroutines may read the connection.
func (c *requestContext) setWatchable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchable = true
	c.watchLocked()
}

// isShared reports whether other code may still use the context after its exchange.
func (c *requestContext) isShared() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancelable != nil
}

// end cancels the context: its exchange is over, or its client has disconnected.
func (c *requestContext) end() {
	c.mu.Lock()
	c.ended = true
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// setContentRead is called when all content of the request was read.
func (c *requestContext) setContentRead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contentRead = true
	c.watchLocked()
}

// whole returns a context that can be canceled.
func (c *requestContext) whole() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancelable == nil {
		c.cancelable, c.cancel = context.WithCancel(c.base)
		if c.ended {
			c.cancel()
		}
		c.watchLocked()
	}
	return c.cancelable
}

// watchLocked starts to watch the connection if a caller has asked for the context's channel. The
// caller holds mu.
func (c *requestContext) watchLocked() {
	if c.cancelable != nil && c.contentRead && c.watchable && !c.ended && c.watch == nil && c.exchange.canWatch() {
		c.watch = c.exchange.startWatch(c)
	}
}

// stopWatch ends the watch, if there is one. The connection is then the caller's alone.
func (c *requestContext) stopWatch() {
	c.mu.Lock()
	w := c.watch
	c.watch, c.contentRead = nil, false
	c.mu.Unlock()
	if w != nil {
		w.stop()
	}
}

// Deadline implements [context.Context].
func (c *requestContext) Deadline() (time.Time, bool) { return c.base.Deadline() }

// Done implements [context.Context].
func (c *requestContext) Done() <-chan struct{} { return c.whole().Done() }

// Err implements [context.Context].
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cancelable != nil:
		return c.cancelable.Err()
	case c.ended:
		return context.Canceled
	}
	return c.base.Err()
}

// Value implements [context.Context].
func (c *requestContext) Value(key any) any {
	switch key {
	case http.LocalAddrContextKey:
		return c.local.LocalAddr()
	case http.ServerContextKey:
		return c.standIn
	}
	c.mu.Lock()
	parent := c.base
	if c.cancelable != nil {
		parent = c.cancelable
	}
	c.mu.Unlock()
	return parent.Value(key)
}

package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"weir/web"
	"weir/web/components/internal/share"
)

// errFull is the reason to answer a client by 503.
var errFull = errors.New("events: max_open clients are connected, or the component was closed")

// closeTimeout is how long Close waits for the functions to return: longer than a closing handshake
// with a client that has disconnected.
const closeTimeout = 15 * time.Second

// connectedClients counts and limits the connected clients of a component.
type connectedClients struct {
	name  string
	limit *share.Limit // nil: no limit

	stopping context.Context // canceled by Close
	stop     context.CancelFunc

	mu      sync.Mutex
	count   int
	allLeft chan struct{} // closed by the last client that leaves, if Close waits
}

func newConnectedClients(name string, maxOpen int, onOverLimit func(line string)) (*connectedClients, error) {
	if maxOpen < 0 {
		return nil, fmt.Errorf("events: max_open is %d: write the maximum number of connected clients, or 0 for no limit", maxOpen)
	}
	e := &connectedClients{name: name}
	if maxOpen > 0 {
		e.limit = share.New(maxOpen, onOverLimit)
	}
	e.stopping, e.stop = context.WithCancel(context.Background())
	return e, nil
}

// admit reports whether a client is admitted; otherwise it answers the client. The caller must call
// leave for an admitted client.
func (e *connectedClients) admit(c *web.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping.Err() != nil || e.limit != nil && !e.limit.Enter(c.RemoteAddr()) {
		c.Answer(c.Fail(http.StatusServiceUnavailable, errFull))
		c.SetHeader("Retry-After", "5")
		return false
	}
	e.count++
	if e.limit != nil {
		c.After(func(c *web.Conn) { e.limit.Leave(c.RemoteAddr()) })
	}
	return true
}

func (e *connectedClients) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.count--; e.count == 0 && e.allLeft != nil {
		close(e.allLeft)
		e.allLeft = nil
	}
}

// Traits implements the optional part of [web.Component].
func (e *connectedClients) Traits() web.Traits {
	return web.Traits{Name: e.name, Role: web.RoleSource, InProcess: "connected clients"}
}

// Open returns the number of connected clients. It is safe for concurrent use.
func (e *connectedClients) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// Close ends all connections and waits for their functions to return, at most 15 seconds. Later
// clients are answered by 503. It may be called several times, but not concurrently.
func (e *connectedClients) Close() error {
	e.mu.Lock()
	e.stop()
	if e.count == 0 {
		e.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	e.allLeft = idle
	e.mu.Unlock()
	late := time.NewTimer(closeTimeout)
	defer late.Stop()
	select {
	case <-idle:
		return nil
	case <-late.C:
		return fmt.Errorf("events: %d functions of %s have not returned since their context ended", e.Open(), e.name)
	}
}

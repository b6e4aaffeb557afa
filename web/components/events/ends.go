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

// errFull is why a client is answered by 503.
var errFull = errors.New("events: as many clients as max_open says are connected, or the component was closed")

// drain is how long Close waits for the functions to return: longer than a closing handshake with a
// client that has gone.
const drain = 15 * time.Second

// ends are the clients of a component that are connected.
type ends struct {
	name  string
	limit *share.Limit // nil: as many as come

	stopping context.Context // ends with Close
	stop     context.CancelFunc

	mu   sync.Mutex
	open int
	idle chan struct{} // closed by the last that leaves, when Close waits
}

func newEnds(name string, maxOpen int, crowded func(line string)) (*ends, error) {
	if maxOpen < 0 {
		return nil, fmt.Errorf("events: max_open is %d: write how many clients may be connected at once, or 0 for any number", maxOpen)
	}
	e := &ends{name: name}
	if maxOpen > 0 {
		e.limit = share.New(maxOpen, crowded)
	}
	e.stopping, e.stop = context.WithCancel(context.Background())
	return e, nil
}

// enter lets a client in, or answers it. Who was let in leaves.
func (e *ends) enter(c *web.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping.Err() != nil || e.limit != nil && !e.limit.Enter(c.RemoteAddr()) {
		c.Answer(c.Fail(http.StatusServiceUnavailable, errFull))
		c.SetHeader("Retry-After", "5")
		return false
	}
	e.open++
	if e.limit != nil {
		c.After(func(c *web.Conn) { e.limit.Leave(c.RemoteAddr()) })
	}
	return true
}

func (e *ends) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open--; e.open == 0 && e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
}

// Traits says how the component is composed.
func (e *ends) Traits() web.Traits { return web.Traits{Name: e.name, Role: web.RoleSource} }

// Open is how many clients are connected. It may be called from any goroutine.
func (e *ends) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// Close ends all conversations, and waits until they have ended, at most 15 seconds. Clients that
// come later are answered by 503. It may be called several times, one after the other.
func (e *ends) Close() error {
	e.mu.Lock()
	e.stop()
	if e.open == 0 {
		e.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	e.idle = idle
	e.mu.Unlock()
	late := time.NewTimer(drain)
	defer late.Stop()
	select {
	case <-idle:
		return nil
	case <-late.C:
		return fmt.Errorf("events: %d functions of %s have not returned since their context ended", e.Open(), e.name)
	}
}

package host

import (
	"errors"
	"net"
	"time"

	"weir/tcpip/link"
)

// watchedLink is a link that reports when its device is gone: the stack itself only ends its
// readers.
type watchedLink struct {
	link.Link
	failed chan<- error
}

// Queue implements link.Link.
func (w *watchedLink) Queue(n int) link.Queue { return &watchedQueue{w.Link.Queue(n), w.failed} }

type watchedQueue struct {
	link.Queue
	failed chan<- error
}

// Read implements link.Queue.
func (q *watchedQueue) Read(batch []link.Frame, wait time.Duration) (int, error) {
	n, err := q.Queue.Read(batch, wait)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		select {
		case q.failed <- err:
		default:
		}
	}
	return n, err
}

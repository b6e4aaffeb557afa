package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/flow"
)

// RunNetwork runs a composition as a process network between two channels. It receives exchanges
// from in and sends each to out when the exchange has passed the composition, in order of
// completion.
//
// RunNetwork returns when ctx ends or in is closed, after all exchanges inside were sent to out or
// dropped. It closes neither channel. With a nil out, the responses are sent to their clients
// instead. Together with [NewChannelHandler], programs build larger networks over their own
// channels.
func RunNetwork(ctx context.Context, c Component, in <-chan *Conn, out chan<- *Conn, o Options) error {
	o.Way = flow.Network
	n := &Handler{way: flow.Network, runEnded: make(chan struct{}), onPanic: o.OnPanic}
	exit := n.exitFunc()
	if out != nil {
		exit = func(c *Conn) { c.sendTo(ctx, out) }
	}
	b, err := compile(c, n.way, queueSize(o), exit)
	if err != nil {
		return err
	}
	if n.net, err = b.net(n.onLost, o.DrainTimeout); err != nil {
		return err
	}
	if err := n.run(); err != nil {
		return err
	}
	for {
		select {
		case conn, open := <-in:
			if !open {
				return n.Close()
			}
			conn = conn.handOver("the channel")
			conn.previousStage = nil // it comes by the entry, whatever network it was in before
			if n.net.Put([]*Conn{conn}) == 0 {
				n.onLost(conn, flow.ErrFull)
			}
		case <-ctx.Done():
			return n.Close()
		}
	}
}

// sendTo sends the exchange to out, or answers it by 503 if the network stops.
func (c *Conn) sendTo(ctx context.Context, out chan<- *Conn) {
	c = c.handOver("the network")
	select {
	case out <- c:
	case <-ctx.Done():
		c.failWith(http.StatusServiceUnavailable, flow.ErrStopped)
		c.requestSide.setUpDone <- struct{}{}
	}
}

// NewChannelHandler makes a handler of a network of the user's own: requests enter it by in, and
// their responses are sent when they come out by out. No other goroutine may receive from out. The
// network must return each exchange once, or end it with [Conn.Drop].
//
// The caller must call Close. Later requests are answered by 503; the channels stay open. The
// network may have filters, so its sources do not see the Range field.
func NewChannelHandler(in chan<- *Conn, out <-chan *Conn) *Handler {
	// the user's network may have filters, so it hides ranges
	h := &Handler{way: flow.Network, userIn: in, runEnded: make(chan struct{}), hidesRanges: true}
	h.connPool.New = func() any { return newConn() }
	ctx, stop := context.WithCancel(context.Background())
	h.cancelRun, h.closing = stop, ctx.Done()
	go func() { // ends after Close
		defer close(h.runEnded)
		h.runErr = h.returnExchanges(out)
	}()
	return h
}

// returnExchanges wakes the request of each exchange that comes out of the user's network. It
// returns when Close was called and no exchange is inside.
func (h *Handler) returnExchanges(out <-chan *Conn) error {
	closing := h.closing
	var poll, deadline <-chan time.Time // of timers; nil before Close
	for {
		select {
		case c, open := <-out:
			if !open {
				return errors.New("web: the user's network closed its output channel")
			}
			c.requestSide.setUpDone <- struct{}{}
		case <-closing:
			closing = nil
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			poll, deadline = ticker.C, time.After(5*time.Second)
		case <-poll:
			if h.userExchanges.Load() == 0 {
				return nil
			}
		case <-deadline:
			return fmt.Errorf("web: %d exchanges did not come out of the user's network within 5 s", h.userExchanges.Load())
		}
	}
}

// setUpByUserNetwork takes an exchange through the user's network. It reports whether the exchange
// came back before Close returned.
func (h *Handler) setUpByUserNetwork(c *Conn) bool {
	side := c.requestSide
	h.userExchanges.Add(1)
	defer h.userExchanges.Add(-1)
	if !h.sendToUserNetwork(c) {
		c.failWith(http.StatusServiceUnavailable, errNotAdmitted)
		return true
	}
	select {
	case <-side.setUpDone:
		return true
	case <-h.runEnded:
	}
	select {
	case <-side.setUpDone: // came back at the last moment
		return true
	default:
		return false
	}
}

// sendToUserNetwork sends the exchange to the user's network. It reports whether it did: not after
// Close, or when returnExchanges has ended, since the exchange would not be received then.
func (h *Handler) sendToUserNetwork(c *Conn) bool {
	select {
	case <-h.closing:
		return false
	case <-h.runEnded:
		return false
	default:
	}
	select {
	case h.userIn <- c:
		return true
	case <-h.closing:
	case <-h.runEnded:
	}
	return false
}

// Drop ends an exchange inside a network of the user's own: it is answered by 503. The caller must
// not use it afterwards.
func (c *Conn) Drop(why error) {
	c.assertOwned()
	c.failWith(http.StatusServiceUnavailable, why)
	side := c.requestSide
	side.setUpDone <- struct{}{}
}

package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"weir/flow"
)

// Open runs a composition as a process network with open ends: exchanges come by in, and go on by
// out when they have been through it, in the order in which that happens. It returns when the
// context has ended or in is closed, after what is under way has gone out or been lost; it closes
// neither. Out may be nil: then exchanges are sent when they have been through. With [Ends], larger
// networks can be made over channels of the user's own.
func Open(ctx context.Context, c Component, in <-chan *Conn, out chan<- *Conn, o Options) error {
	o.Way = flow.Network
	n := &Handler{way: flow.Network, ended: make(chan struct{}), panicked: o.Panicked}
	exit := n.exit()
	if out != nil {
		exit = func(c *Conn) { c.forward(ctx, out) }
	}
	b, err := compile(c, n.way, queue(o), exit)
	if err != nil {
		return err
	}
	if n.net, err = b.net(n.lose, o.Drain); err != nil {
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
			conn = conn.pass("the channel")
			conn.via = nil // it comes by the entry, whatever network it was in before
			if n.net.Put([]*Conn{conn}) == 0 {
				n.lose(conn, flow.ErrFull)
			}
		case <-ctx.Done():
			return n.Close()
		}
	}
}

// forward sends the exchange on, or loses it when the network stops.
func (c *Conn) forward(ctx context.Context, out chan<- *Conn) {
	c = c.pass("the network")
	select {
	case out <- c:
	case <-ctx.Done():
		c.lost(http.StatusServiceUnavailable, flow.ErrStopped)
		c.home.done <- struct{}{}
	}
}

// Ends makes a handler of a network of the user's own: exchanges go in by in, and are sent when
// they come out by out, which nobody else may receive from. The network must give back each
// exchange once, or end it with [Conn.Lose]. Who calls Ends calls Close, after which requests are
// answered by 503; the channels stay open. Since the network may have filters, its sources do not
// see that a range was asked for.
func Ends(in chan<- *Conn, out <-chan *Conn) *Handler {
	// as far as is known here
	h := &Handler{way: flow.Network, in: in, ended: make(chan struct{}), filtered: true}
	h.conns.New = func() any { return newConn() }
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.closing = stop, ctx.Done()
	go func() { // its end is Close's to say
		defer close(h.ended)
		h.err = h.collect(out)
	}()
	return h
}

// collect sends home what comes out of the user's network, until Close was called and nothing is
// inside.
func (h *Handler) collect(out <-chan *Conn) error {
	closing := h.closing
	var poll, deadline <-chan time.Time // from timers; nil before Close
	for {
		select {
		case c, open := <-out:
			if !open {
				return errors.New("web: the network closed the channel that exchanges come out by")
			}
			c.home.done <- struct{}{}
		case <-closing:
			closing = nil
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			poll, deadline = ticker.C, time.After(5*time.Second)
		case <-poll:
			if h.inside.Load() == 0 {
				return nil
			}
		case <-deadline:
			return fmt.Errorf("web: %d exchanges did not come out of the network", h.inside.Load())
		}
	}
}

// setUpOutside takes an exchange through the user's network. It reports false when it did not come
// back before Close was through.
func (h *Handler) setUpOutside(c *Conn) bool {
	home := c.home
	h.inside.Add(1)
	defer h.inside.Add(-1)
	if !h.goesIn(c) {
		c.lost(http.StatusServiceUnavailable, errNoRoom)
		return true
	}
	select {
	case <-home.done:
		return true
	case <-h.ended:
	}
	select {
	case <-home.done: // at last
		return true
	default:
		return false
	}
}

// goesIn gives the exchange to the user's network if that still takes some: after Close nothing
// goes in, since nobody waits for it, nor when what collects has ended.
func (h *Handler) goesIn(c *Conn) bool {
	select {
	case <-h.closing:
		return false
	case <-h.ended:
		return false
	default:
	}
	select {
	case h.in <- c:
		return true
	case <-h.closing:
	case <-h.ended:
	}
	return false
}

// Lose ends an exchange in a network of the user's own that has no way for it: it is answered by
// 503, and is no longer the caller's.
func (c *Conn) Lose(why error) {
	c.own()
	c.lost(http.StatusServiceUnavailable, why)
	home := c.home
	home.done <- struct{}{}
}

package serve

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// host is a net.Conn that can run a session: written straight down by its owner, and poked by others.
type host interface {
	net.Conn
	taker
	poke()                       // ends a Read, by os.ErrDeadlineExceeded, or a pause; any goroutine
	abandon()                    // ends a Write too, and every further one; any goroutine
	pause(until time.Time) error // waits until then (zero: for ever) or for a poke
}

// hosted runs a session straight down on a host. Its owner is the goroutine or coroutine of serve, which
// alone calls the session; others leave word in posted and in the outbox, and poke it.
type hosted struct {
	host
	o       Options
	lane    *lane
	session Session
	buf     []byte

	w      Writer
	wakeAt time.Time // zero: no time
	held   bool
	rearm  bool // the read deadline is not wakeAt

	out      outbox
	posted   atomic.Bool
	unwanted atomic.Bool
}

// hostSession makes a handler of a service of sessions.
func hostSession(open func(Conn) Session, o Options, n *lane) func(net.Conn) {
	return func(c net.Conn) {
		h := &hosted{host: c.(host), o: o, lane: n, buf: make([]byte, o.Read)}
		h.serve(open)
	}
}

func (h *hosted) serve(open func(Conn) Session) {
	err := contain(h.o, h.lane, h.RemoteAddr(), func() error {
		h.session = open(h)
		return nil
	})
	if err != nil || h.session == nil {
		return
	}
	for err == nil {
		err = h.step()
	}
	h.out.drain(nil, h.Write) // what others had sent before the end; it fails where the end is a broken connection
	h.out.close()
	if h.unwanted.Load() {
		err = ErrClosed
	}
	contain(h.o, h.lane, h.RemoteAddr(), func() error { h.session.Close(err); return nil })
}

// step writes what waits, waits for something to happen, and tells the session.
func (h *hosted) step() error {
	if h.out.waiting.Load() {
		if err := h.out.drain(nil, h.Write); err != nil {
			return err
		}
	}
	if h.rearm {
		// Before posted is looked at: a poke that comes later finds this deadline and ends the read.
		h.rearm = false
		h.SetReadDeadline(h.wakeAt)
	}
	switch {
	case h.unwanted.Load():
		return ErrClosed
	case h.posted.Swap(false):
		return h.wake(time.Now())
	case h.out.waiting.Load():
		return nil
	case h.held:
		return h.rest()
	}
	n, err := h.Read(h.buf)
	if n > 0 {
		return h.settle(h.input(h.buf[:n]))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.rearm = true
		return h.wakeIfDue()
	}
	return err
}

// rest waits while the session holds.
func (h *hosted) rest() error {
	if err := h.pause(h.wakeAt); err != nil {
		return err
	}
	return h.wakeIfDue()
}

func (h *hosted) wakeIfDue() error {
	if now := time.Now(); !h.wakeAt.IsZero() && !now.Before(h.wakeAt) {
		return h.wake(now)
	}
	return nil
}

func (h *hosted) wake(now time.Time) (err error) {
	h.lane.wakes.add(1)
	h.held, h.wakeAt, h.rearm = false, time.Time{}, true
	return h.settle(h.callWake(now))
}

// settle does what the session asked of its writer.
func (h *hosted) settle(err error) error {
	w := &h.w
	defer w.reset()
	h.held = h.held || w.hold
	if !w.at.IsZero() {
		h.wakeAt, h.rearm = w.at, true
	}
	if len(w.buf) == 0 && !h.out.waiting.Load() {
		return err
	}
	if failed := h.out.drain(w.buf, h.Write); failed != nil {
		return failed
	}
	return err
}

func (h *hosted) input(in []byte) (err error) {
	defer h.recover(&err)
	return h.session.Input(in, &h.w)
}

func (h *hosted) callWake(now time.Time) (err error) {
	defer h.recover(&err)
	return h.session.Wake(now, &h.w)
}

func (h *hosted) recover(err *error) {
	if v := recover(); v != nil {
		h.w.reset()
		*err = panicked(h.o, h.lane, h.RemoteAddr(), v)
	}
}

// Send implements Conn.
func (h *hosted) Send(p []byte) bool {
	if !h.out.put(p, h, h.o.Queue) {
		h.lane.refused.Add(1)
		return false
	}
	if h.out.waiting.Load() {
		h.poke()
	}
	return true
}

// Post implements Conn.
func (h *hosted) Post() {
	h.posted.Store(true)
	h.poke()
}

// Close implements Conn. It hides the host's, which closes at once.
func (h *hosted) Close() {
	h.unwanted.Store(true)
	h.abandon()
}

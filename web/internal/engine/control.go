package engine

import (
	"net/http"
	"time"
)

// The methods in this file are for [http.ResponseController].

// EnableFullDuplex lets the handler read content of the request after it has started to write the
// response.
func (w *response) EnableFullDuplex() error {
	if w.exchange.over {
		return errOver
	}
	w.fullDuplex = true
	return nil
}

// SetReadDeadline limits reads of the request's content. Limits of the client's hold, too.
func (w *response) SetReadDeadline(t time.Time) error {
	x := w.exchange
	switch {
	case x.over:
		return errOver
	case w.hijacked != nil:
		return http.ErrHijacked
	}
	x.conn.reading.setHandler(t)
	return x.conn.conn.SetReadDeadline(past) // a read that is under way takes the new limit
}

// SetWriteDeadline limits writes of the response. Limits of the client's hold, too.
func (w *response) SetWriteDeadline(t time.Time) error {
	x := w.exchange
	switch {
	case x.over:
		return errOver
	case w.hijacked != nil:
		return http.ErrHijacked
	}
	x.conn.writeLimited = true
	return x.conn.conn.SetWriteDeadline(t)
}

// clearDeadlines removes the deadlines that the handler has set for its exchange.
func (c *Conn) clearDeadlines() {
	c.reading.clearHandler()
	if c.writeLimited {
		c.writeLimited = false
		_ = c.conn.SetWriteDeadline(time.Time{}) // fails only if the connection has ended
	}
}

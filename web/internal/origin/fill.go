package origin

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// fill reads input behind c.in. Some must arrive within limit, 0 is none.
func (c *Conn) fill(limit time.Duration) error {
	c.makeRoom()
	return c.within(limit, func() error {
		n, err := c.conn.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+n]
		switch {
		case n > 0:
			c.began = true
			return nil
		case err == nil:
			return io.ErrNoProgress
		}
		return err
	})
}

// within calls read, whose deadline is limit, 0 is none. The first wait of an exchange that takes
// long ends by ErrSlow.
func (c *Conn) within(limit time.Duration, read func() error) error {
	wait := limit
	if c.notices && (limit == 0 || limit > noticeAfter) {
		wait = noticeAfter
	}
	if err := c.setReadDeadline(wait); err != nil {
		return err
	}
	switch err := read(); {
	case err == nil:
		return nil
	case c.interrupted.Load():
		return net.ErrClosed
	case wait != limit && errors.Is(err, os.ErrDeadlineExceeded):
		c.notices = false
		return ErrSlow
	default:
		return err
	}
}

// setReadDeadline limits a read, 0 is no limit.
func (c *Conn) setReadDeadline(limit time.Duration) error {
	var at time.Time
	if limit > 0 {
		at = time.Now().Add(limit)
	}
	err := c.conn.SetReadDeadline(at)
	if c.interrupted.Load() { // its deadline was perhaps the earlier one
		return net.ErrClosed
	}
	return err
}

// makeRoom makes sure that the input buffer has room for a read.
func (c *Conn) makeRoom() {
	if c.start > 0 {
		c.in, c.start = c.in[:copy(c.in, c.in[c.start:])], 0
	}
	if len(c.in) == cap(c.in) {
		c.in = append(make([]byte, 0, 2*cap(c.in)), c.in...)
	}
}

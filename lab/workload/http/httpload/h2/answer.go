package h2

import (
	"golang.org/x/net/http2"
)

// fragment takes a part of a block of fields, which is at the end of c.block.
func (c *Conn) fragment(last bool) error {
	if len(c.block) > maxBlock {
		return ErrBlock
	}
	if !last {
		return nil
	}
	c.fields.reset()
	if _, err := c.decoder.Write(c.block); err != nil {
		return ErrHPACK
	}
	if c.decoder.Close() != nil {
		return ErrHPACK
	}
	s, err := c.find(c.blockID)
	if s == nil {
		return err
	}
	return c.headReceived(s)
}

// headReceived handles the fields of an interim or final response, or trailers.
func (c *Conn) headReceived(s *stream) error {
	f := &c.fields
	switch {
	case f.wrong != "":
		return c.malformed(s.id, f.wrong)
	case s.headDone && (f.status != 0 || !c.ends):
		return c.malformed(s.id, "trailers have a :status or do not end the stream")
	case s.headDone:
		return c.ended(s, f.trailer)
	case f.status == 0:
		return c.malformed(s.id, "a response has no :status")
	case f.status == 101:
		return c.malformed(s.id, "a response has the status 101, which HTTP/2 does not have")
	case f.status < 200 && (c.ends || s.interims == maxInterim):
		return c.malformed(s.id, "a 1xx response ends the stream, or there are too many")
	case f.status < 200:
		s.interims++
		return nil
	}
	s.head, s.headDone = f.head, true
	c.events.Head(s.handle, s.head, len(c.block))
	if c.ends && c.streams[c.blockID] == s { // the event may have cancelled it
		return c.ended(s, f.trailer)
	}
	return nil
}

// data handles a DATA frame. Its padding counts for the windows.
func (c *Conn) data(f *http2.DataFrame) error {
	c.consumed = c.reopen(0, c.consumed+int64(f.Length))
	s, err := c.find(f.StreamID)
	if s == nil {
		return err
	}
	piece := f.Data()
	s.received += int64(len(piece))
	switch {
	case !s.headDone:
		return c.malformed(s.id, "a body comes before its head")
	case s.received > 0 && (s.isHead || s.head.Status == 204 || s.head.Status == 304):
		return c.malformed(s.id, "a response has a body that it must not have")
	case s.head.Length >= 0 && s.received > s.head.Length:
		return c.malformed(s.id, "a body is longer than its content-length")
	}
	id := s.id
	if len(piece) > 0 {
		c.events.Data(s.handle, piece)
	}
	if c.streams[id] != s {
		return nil // the event cancelled it
	}
	if f.StreamEnded() {
		return c.ended(s, Trailer{})
	}
	s.consumed = c.reopen(id, s.consumed+int64(f.Length))
	return nil
}

// reopen opens a receive window again when half of it is consumed, and returns what is consumed
// then. The number 0 is the connection.
func (c *Conn) reopen(id uint32, consumed int64) int64 {
	if consumed < receiveWindow/2 {
		return consumed
	}
	c.written(c.writer.WriteWindowUpdate(id, uint32(consumed)))
	return 0
}

// ended handles the end of a response. A server that answers before it has the whole body of the
// request does not need the rest (RFC 9113, section 8.1).
func (c *Conn) ended(s *stream, t Trailer) error {
	if s.head.Length >= 0 && s.received != s.head.Length && !s.isHead && s.head.Status != 304 {
		return c.malformed(s.id, "a body is shorter than its content-length")
	}
	if len(s.rest) > 0 {
		c.written(c.writer.WriteRSTStream(s.id, http2.ErrCodeNo))
	}
	handle := s.handle
	c.close(s)
	c.events.End(handle, t)
	return nil
}

package h2

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/net/http2"
)

// frameHead is the size of a frame's header in bytes.
const frameHead = 9

// Feed takes the next bytes of the server. An error is of the whole connection and final: it must
// be closed, and its streams have failed.
func (c *Conn) Feed(in []byte) error {
	if len(c.partial) > 0 {
		c.partial = append(c.partial, in...)
		in = c.partial
	}
	for len(in) >= frameHead {
		size := int(in[0])<<16 | int(in[1])<<8 | int(in[2])
		switch {
		case !c.ready && http2.FrameType(in[3]) != http2.FrameSettings:
			return ErrPreface
		case size > maxFrame:
			return ErrFrameSize
		}
		if len(in) < frameHead+size {
			break
		}
		c.frame.Reset(in[:frameHead+size])
		if err := c.readFrame(); err != nil {
			return err
		}
		in = in[frameHead+size:]
	}
	c.partial = append(c.partial[:0], in...)
	if c.out.Len() > maxOut {
		return ErrUnread
	}
	return nil
}

// readFrame handles a complete frame.
func (c *Conn) readFrame() error {
	frame, err := c.reader.ReadFrame()
	var ofStream http2.StreamError
	switch {
	case errors.As(err, &ofStream):
		return c.malformed(ofStream.StreamID, "a frame is malformed")
	case err != nil:
		return fmt.Errorf("a frame is malformed: %w", err)
	}
	switch f := frame.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.HeadersFrame:
		c.block, c.blockID, c.ends = append(c.block[:0], f.HeaderBlockFragment()...), f.StreamID, f.StreamEnded()
		return c.fragment(f.HeadersEnded())
	case *http2.ContinuationFrame:
		c.block = append(c.block, f.HeaderBlockFragment()...)
		return c.fragment(f.HeadersEnded())
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.written(c.writer.WritePing(true, f.Data))
		}
	case *http2.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *http2.RSTStreamFrame:
		if s, err := c.find(f.StreamID); s == nil {
			return err
		}
		c.failed(c.streams[f.StreamID], &StreamError{Kind: Reset, Code: f.ErrCode})
	case *http2.GoAwayFrame:
		c.goneAway(f)
	case *http2.PushPromiseFrame:
		return ErrPush
	}
	return nil
}

// find returns an open stream; nil if it was closed.
func (c *Conn) find(id uint32) (*stream, error) {
	if id%2 == 0 || id >= c.nextID {
		return nil, ErrStream
	}
	return c.streams[id], nil
}

// failed closes a stream that failed.
func (c *Conn) failed(s *stream, err *StreamError) {
	handle := s.handle
	c.close(s)
	c.events.Failed(handle, err)
}

// malformed resets a stream whose response is malformed (RFC 9113, section 8.1.1).
func (c *Conn) malformed(id uint32, text string) error {
	s, err := c.find(id)
	if s == nil {
		return err
	}
	c.written(c.writer.WriteRSTStream(id, http2.ErrCodeProtocol))
	c.failed(s, &StreamError{Kind: Malformed, Code: http2.ErrCodeProtocol, Text: text})
	return nil
}

// goneAway handles GOAWAY (RFC 9113, section 6.8): later streams were not processed, the others go
// on.
func (c *Conn) goneAway(f *http2.GoAwayFrame) {
	c.goAway = true
	var later []*stream
	for id, s := range c.streams {
		if id > f.LastStreamID {
			later = append(later, s)
		}
	}
	slices.SortFunc(later, func(a, b *stream) int { return cmp.Compare(a.id, b.id) })
	for _, s := range later {
		c.failed(s, &StreamError{Kind: GoAway, Code: f.ErrCode})
	}
}

// settings applies the server's settings and acknowledges them.
func (c *Conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		if !c.ready {
			return ErrPreface
		}
		return nil
	}
	if err := f.ForeachSetting(c.setting); err != nil {
		return err
	}
	c.ready = true
	c.written(c.writer.WriteSettingsAck())
	c.pump()
	return nil
}

func (c *Conn) setting(s http2.Setting) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case http2.SettingInitialWindowSize:
		change := int64(s.Val) - c.initialWindow
		c.initialWindow += change
		for _, open := range c.streams {
			if open.window += change; open.window > maxWindow {
				return ErrWindow
			}
		}
	case http2.SettingMaxFrameSize:
		c.frameSize = min(int(s.Val), outLow)
	case http2.SettingMaxConcurrentStreams:
		c.maxStreams = s.Val
	case http2.SettingHeaderTableSize:
		c.encoder.SetMaxDynamicTableSizeLimit(s.Val)
	}
	return nil
}

// windowUpdate opens a window for bodies (RFC 9113, section 6.9).
func (c *Conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	window := &c.window
	if f.StreamID != 0 {
		s, err := c.find(f.StreamID)
		if s == nil {
			return err
		}
		window = &s.window
	}
	if *window += int64(f.Increment); *window > maxWindow {
		return ErrWindow
	}
	c.pump()
	return nil
}

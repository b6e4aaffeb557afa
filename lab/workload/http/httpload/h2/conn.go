package h2

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"weir/lab/workload/http/httpload/response"
)

// Limits of a connection, in bytes unless stated otherwise.
const (
	receiveWindow = 1 << 30  // of the connection and of each stream
	maxFrame      = 16 << 10 // payload of a frame from the server (RFC 9113, section 4.2)
	maxBlock      = 64 << 10 // encoded fields of a response
	outLow        = 256 << 10
	maxOut        = 8 << 20   // output that the server does not read
	maxInterim    = 32        // 1xx responses before the final one
	maxStreamID   = 1<<31 - 1 // the last number of a stream
	maxWindow     = 1<<31 - 1 // of the server
	defaultWindow = 65_535    // of the server, before its SETTINGS (RFC 9113, section 6.5.2)
	noLimit       = 1<<32 - 1 // streams of a server that gives no limit
	tableSize     = 4096      // of the HPACK decoder
)

// Events are called from Feed, one at a time. The handle is that of Open. They may call Open and
// Cancel.
type Events interface {
	Head(handle int, h response.Head, size int) // the head of the final response, and its size
	Data(handle int, piece []byte)              // a piece of its body, valid until it returns
	End(handle int, t Trailer)                  // the response is complete; the stream is closed
	Failed(handle int, err error)               // the stream is closed by an error, a *StreamError
}

// Request is a request to send.
type Request struct {
	Fields []hpack.HeaderField // pseudo-header fields first; names in lower case
	Body   []byte              // must not change until the stream is closed
	Head   bool                // the method is HEAD
}

// stream is an open stream.
type stream struct {
	id       uint32
	handle   int
	isHead   bool
	rest     []byte // of the body that is not sent
	window   int64  // bytes that the server accepts; may be negative
	head     response.Head
	headDone bool
	interims int
	received int64 // bytes of the body
	consumed int64 // bytes of the receive window since its last update
}

// Conn is the client's end of a connection. It is not safe for concurrent use.
type Conn struct {
	events  Events
	out     bytes.Buffer
	writer  *http2.Framer
	reader  *http2.Framer
	frame   bytes.Reader // a complete frame, which reader reads
	partial []byte       // the part of a frame received so far

	encoder *hpack.Encoder
	encoded bytes.Buffer // output of encoder
	decoder *hpack.Decoder
	block   []byte // encoded fields of blockID
	blockID uint32 // stream of the fields that are being received
	ends    bool   // that stream ends with them
	fields  fields // decoded

	streams  map[uint32]*stream
	pending  []*stream // with a body that is not sent
	spare    []*stream // closed, to be used again
	nextID   uint32
	consumed int64 // bytes of the connection's receive window since its last update

	// the server's settings
	ready         bool // they were received
	window        int64
	initialWindow int64
	frameSize     int
	maxStreams    uint32
	goAway        bool // the server accepts no more streams
}

// New returns a connection whose preface is in its output.
func New(events Events) *Conn {
	c := &Conn{events: events, streams: map[uint32]*stream{}, nextID: 1, window: defaultWindow, initialWindow: defaultWindow, frameSize: maxFrame, maxStreams: noLimit}
	c.writer, c.reader = http2.NewFramer(&c.out, nil), http2.NewFramer(nil, &c.frame)
	c.reader.SetReuseFrames()
	c.encoder = hpack.NewEncoder(&c.encoded)
	c.decoder = hpack.NewDecoder(tableSize, c.fields.add)
	c.decoder.SetMaxStringLength(maxBlock)
	c.out.WriteString(http2.ClientPreface)
	c.written(c.writer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindow}))
	c.written(c.writer.WriteWindowUpdate(0, receiveWindow-defaultWindow))
	return c
}

// written panics if a frame is invalid: the buffer cannot fail.
func (*Conn) written(err error) {
	if err != nil {
		panic(fmt.Sprintf("h2: wrote an invalid frame: %v", err))
	}
}

// Ready reports whether the server's settings were received.
func (c *Conn) Ready() bool { return c.ready }

// MaxStreams returns how many streams the server allows at once.
func (c *Conn) MaxStreams() uint32 { return c.maxStreams }

// Active returns the number of open streams.
func (c *Conn) Active() int { return len(c.streams) }

// CanOpen reports whether the server accepts another stream. When it does not, and none is Active,
// the connection should be closed.
func (c *Conn) CanOpen() bool { return !c.goAway && c.nextID <= maxStreamID }

// Open sends r on a new stream and returns its number. CanOpen must be true.
func (c *Conn) Open(handle int, r *Request) (id uint32) {
	s := &stream{}
	if n := len(c.spare); n > 0 {
		s, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	*s = stream{id: c.nextID, handle: handle, isHead: r.Head, rest: r.Body, window: c.initialWindow}
	c.nextID += 2
	c.streams[s.id] = s
	c.writeHead(s.id, r.Fields, len(r.Body) == 0)
	if len(r.Body) > 0 {
		c.pending = append(c.pending, s)
		c.pump()
	}
	return s.id
}

// writeHead writes fields in frames of the size that the server accepts.
func (c *Conn) writeHead(id uint32, list []hpack.HeaderField, ends bool) {
	c.encoded.Reset()
	for _, f := range list {
		c.written(c.encoder.WriteField(f))
	}
	block := c.encoded.Bytes()
	first := block[:min(len(block), c.frameSize)]
	block = block[len(first):]
	c.written(c.writer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: ends, EndHeaders: len(block) == 0}))
	for len(block) > 0 {
		piece := block[:min(len(block), c.frameSize)]
		block = block[len(piece):]
		c.written(c.writer.WriteContinuation(id, len(block) == 0, piece))
	}
}

// pump writes pieces of bodies, in turn, as far as the windows allow and the output is not too
// long.
func (c *Conn) pump() {
	for progress := true; progress && len(c.pending) > 0; {
		progress = false
		kept := c.pending[:0]
		for _, s := range c.pending {
			n := min(int64(len(s.rest)), int64(c.frameSize), c.window, s.window)
			if n > 0 && c.out.Len() < outLow {
				piece := s.rest[:n]
				s.rest = s.rest[n:]
				c.window, s.window, progress = c.window-n, s.window-n, true
				c.written(c.writer.WriteData(s.id, len(s.rest) == 0, piece))
			}
			if len(s.rest) > 0 {
				kept = append(kept, s)
			}
		}
		clear(c.pending[len(kept):])
		c.pending = kept
	}
}

// Cancel closes a stream, if it is open.
func (c *Conn) Cancel(id uint32) {
	if s := c.streams[id]; s != nil {
		c.close(s)
		c.written(c.writer.WriteRSTStream(id, http2.ErrCodeCancel))
	}
}

// close forgets a stream.
func (c *Conn) close(s *stream) {
	delete(c.streams, s.id)
	for i, p := range c.pending {
		if p == s {
			c.pending = append(c.pending[:i], c.pending[i+1:]...)
			break
		}
	}
	c.spare = append(c.spare, s)
}

// Output returns the bytes to send, which are valid until the next call of a method.
func (c *Conn) Output() []byte { return c.out.Bytes() }

// Sent removes the first n bytes of the output, and adds more of the bodies.
func (c *Conn) Sent(n int) {
	c.out.Next(n)
	if len(c.pending) > 0 {
		c.pump()
	}
}

// CloseAll closes all streams without telling the server, and returns their handles. The connection
// must not be used any more.
func (c *Conn) CloseAll() (handles []int) {
	for _, s := range c.streams {
		handles = append(handles, s.handle)
	}
	slices.Sort(handles)
	clear(c.streams)
	c.pending, c.goAway = nil, true
	return handles
}

// Package link carries a stack's frames: by a TAP or TUN device, a pair in memory, or the loopback.
// Some links wrap another one and record its frames ([Capture]) or impair them ([Impair]). A frame
// is one of Ethernet, or a bare IP packet: that is the link's [Medium].
//
// A link has queues. One goroutine reads a queue, any number may write to it. Write never blocks: a
// full queue drops the frame and counts it. The reader of a link also sends answers, so two links
// that waited for each other would deadlock. Queues in memory can ask their senders to wait instead
// ([Waiter], [PairConfig.Buffer]): connections then hold their data back. They can also let the
// writer's goroutine process frames while the reader waits ([DirectReader]).
//
// A program's own link is an io.ReadWriteCloser of packets ([Over]), or one end of a [Pair] whose
// other end it reads and writes itself, in batches and with superframes.
//
// A device may accept superframes: packets of one connection that it cuts into segments, or has
// merged from segments. [Offload] describes a frame. A frame of [Queue.Read] is valid until the
// next Read; a written frame is the caller's again when [Queue.Write] returns.
//
// The frames of a TAP device pass through a queue of the kernel that holds txqueuelen frames, 1,000
// by default. Frames that find it full are lost: a thousand pings at once fill it. [Setup] makes it
// longer. For a device made otherwise, set at least twice the number of frames that may arrive at
// once (ip link set NAME txqueuelen 4096).
//
// # Limitations
//
// TAP devices need Linux; TUN devices also exist on macOS and FreeBSD, without superframes, where
// they were built but not run. Superframes are of TCP. UDP segmentation is not offered, and the
// kernel then cuts datagrams itself. A multi-queue device is not protected against a second
// program that attaches more queues: each program then receives some of the frames. A queue cannot
// be detached while its device is open.
package link

import (
	"time"

	"weir/wire"
)

// Caps has the capabilities of a link. They do not change while it is open.
type Caps struct {
	Medium     Medium   // what it carries
	MAC        wire.MAC // the stack's hardware address on it; zero with Medium IP
	MTU        int      // largest packet in bytes, without the link's header
	Superframe int      // largest packet of a superframe in bytes; 0: superframes are not accepted
	// it completes TCP and UDP checksums, and reports which received ones are correct
	Checksum bool
	Queues   int // 1 or more
}

// Offload says which work on a frame is left to the device, or was done by it. The zero value is a
// frame as on a wire.
type Offload struct {
	SegmentSize int // of a superframe: payload bytes of each segment; otherwise 0
	// of a superframe: only the first segment has the CWR flag (RFC 3168, section 6.1.2)
	CWR bool
	// the checksum at ChecksumStart+ChecksumOffset holds the pseudo-header's sum, and must be
	// completed over the bytes from ChecksumStart on; always set for a superframe
	ChecksumPartial bool
	ChecksumStart   int // offset of the transport header in the frame, the link's header included
	ChecksumOffset  int // offset of the checksum in the transport header
	// of a received frame: its checksum was verified, or it never was on a wire
	ChecksumOK bool
}

// Frame is a received frame. Its bytes are valid until the queue's next Read. It has at least an
// Ethernet header, or one byte with Medium IP, and the offsets of Offload lie within it.
type Frame struct {
	Bytes []byte
	Offload
}

// Parts is a frame to write, in up to three parts. Their bytes are the caller's again when Write
// returns.
type Parts struct {
	Head []byte // the headers, at least the link's
	Body [2][]byte
	Offload
}

// Len returns the frame's length.
func (p *Parts) Len() int { return len(p.Head) + len(p.Body[0]) + len(p.Body[1]) }

// AppendTo appends the frame's bytes.
func (p *Parts) AppendTo(b []byte) []byte {
	return append(append(append(b, p.Head...), p.Body[0]...), p.Body[1]...)
}

// byteAt returns the byte at an offset of the frame, which must lie in it.
func (p *Parts) byteAt(i int) byte {
	for _, b := range [...][]byte{p.Head, p.Body[0], p.Body[1]} {
		if i < len(b) {
			return b[i]
		}
		i -= len(b)
	}
	return 0
}

// frameOverhead is how much longer an Ethernet frame may be than its packet.
const frameOverhead = wire.EthernetHeader + wire.VLANTag

// accepts reports whether a link with these capabilities accepts a frame.
func (c *Caps) accepts(p *Parts) bool {
	n, most := p.Len(), c.MTU
	if p.SegmentSize > 0 {
		most = c.Superframe
		if most == 0 || !p.ChecksumPartial {
			return false
		}
	}
	return len(p.Head) >= c.Medium.minFrame() && n <= most+c.Medium.overhead() && p.SegmentSize >= 0 && (!p.ChecksumPartial || c.Checksum && p.checksumWithin(n, c.Medium))
}

// checksumWithin reports whether the checksum to complete lies in a frame of n bytes, after the
// link's header.
func (o *Offload) checksumWithin(n int, m Medium) bool {
	return o.ChecksumStart >= m.HeaderLen() && o.ChecksumStart <= n && o.ChecksumOffset >= 0 && o.ChecksumOffset <= n-o.ChecksumStart-2
}

// Link carries frames to and from other hosts.
type Link interface {
	// Caps may be called at any time, by any goroutine.
	Caps() Caps

	// Queue returns queue i, 0 to Caps().Queues-1: the same one at each call.
	Queue(i int) Queue

	// Close ends every Read, also those that wait, with net.ErrClosed. Frames written from then on
	// are dropped. Any goroutine may call it, more than once.
	Close() error
}

// Queue is a queue of a link. A multi-queue device delivers a frame to the queue that a frame of
// the same flow was last written to.
type Queue interface {
	// Read fills batch with received frames, and returns their number. It waits for at least one,
	// but returns 0 after wait or a Wake. A negative wait is unlimited. One goroutine may call it
	// at a time. The error is net.ErrClosed, or says that the device is gone, and persists.
	Read(batch []Frame, wait time.Duration) (int, error)

	// Write sends a frame or drops it, and reports whether it was sent. It never blocks. Any
	// goroutine may call it.
	Write(p *Parts) bool

	// Wake makes the Read that waits, or the next one that would wait, return. Any goroutine may
	// call it, also after Close.
	Wake()

	// Counters may be called at any time, by any goroutine.
	Counters() Counters
}

// Package link is what carries a stack's frames: a TAP device, a pair in memory, the loopback, and
// links that stand before another one and record what passes ([Capture]) or spoil it ([Impair]).
//
// A link has queues. Of each, one goroutine reads; any number may write. What is written and cannot
// be taken is dropped and counted: a link never waits for its peer, since who receives also
// answers, and two that wait for each other's answers wait for ever.
//
// A device may take superframes: packets of one connection that it cuts into segments, or that it
// has merged. [Offload] says what a frame is. A frame of one [Queue.Read] is its reader's until the
// next one; what is written is its writer's again when [Queue.Write] returns.
//
// A TAP device's frames come through a queue of the kernel's, txqueuelen frames long. It is 1,000
// where nobody sets it, and what comes while it is full is lost: a thousand pings at once fill it.
// [Setup] makes it longer; of a device that somebody else has made, set it to at least twice what
// may come at once (ip link set NAME txqueuelen 4096).
//
// # Limitations
//
// TAP devices are Linux's. Superframes are of TCP over IPv4: segmentation of UDP is not asked for,
// and a kernel that is not asked cuts datagrams itself. A device of several queues is not guarded
// against a second program that takes more queues of it: each then gets a part of the frames. A
// queue cannot be switched off while its device is open.
package link

import (
	"time"

	"weir/wire"
)

// Caps are what a link can do. They do not change while it is open.
type Caps struct {
	MAC        wire.MAC // the stack's own address on it
	MTU        int      // largest packet, in bytes without the Ethernet header
	Superframe int      // largest superframe's packet, in bytes; 0: it takes none
	// it completes checksums of TCP and UDP, and says which of those it gives are good
	Checksum bool
	Queues   int // 1 or more
}

// Offload says what of a frame's work is a device's. The zero value is a frame as it is on a wire.
type Offload struct {
	Size int // of a superframe: bytes of payload in each segment; otherwise 0
	// of a superframe: the first segment, and only that, has the CWR bit (RFC 3168, section 6.1.2)
	CWR bool
	// the checksum at Offset behind Start holds the pseudo-header's sum, and is to be completed
	// over all from Start on; a superframe's always
	Partial bool
	Start   int // of the transport header in the frame
	Offset  int // of the checksum in the transport header
	// of a frame that was read: somebody has found its checksum to be right, or it never was on a
	// wire
	Good bool
}

// Frame is one that was read. Its bytes are the queue's again at its next Read. It holds an
// Ethernet header at least, and what Offload says lies within it.
type Frame struct {
	Bytes []byte
	Offload
}

// Parts is a frame to be written, in up to three parts. Their bytes are the caller's again when
// Write returns.
type Parts struct {
	Head []byte // the headers, at least Ethernet's
	Body [2][]byte
	Offload
}

// Len is the frame's length.
func (p *Parts) Len() int { return len(p.Head) + len(p.Body[0]) + len(p.Body[1]) }

// AppendTo appends the frame's bytes.
func (p *Parts) AppendTo(b []byte) []byte {
	return append(append(append(b, p.Head...), p.Body[0]...), p.Body[1]...)
}

// framing is how much longer a frame may be than its packet.
const framing = wire.EthernetHeader + wire.VLANTag

// takes says whether a link with these capabilities takes a frame.
func (c *Caps) takes(p *Parts) bool {
	n, most := p.Len(), c.MTU
	if p.Size > 0 {
		most = c.Superframe
		if most == 0 || !p.Partial {
			return false
		}
	}
	return len(p.Head) >= wire.EthernetHeader && n <= most+framing && p.Size >= 0 && (!p.Partial || c.Checksum && p.within(n))
}

// within says whether the checksum to be completed lies in a frame of n bytes, behind its Ethernet
// header.
func (o *Offload) within(n int) bool {
	return o.Start >= wire.EthernetHeader && o.Start <= n && o.Offset >= 0 && o.Offset <= n-o.Start-2
}

// Link is a way to other hosts.
type Link interface {
	// Caps may be called at any time, by any goroutine.
	Caps() Caps

	// Queue is one of its queues, 0 to Caps().Queues-1: the same at each call.
	Queue(i int) Queue

	// Close ends every Read, those under way too, by net.ErrClosed, and drops what is written from
	// then on. It may be called more than once, and by any goroutine.
	Close() error
}

// Queue is a link's, or one of several. A frame that comes on one of several queues of a device
// comes there because a frame of the same flow was written to that queue last.
type Queue interface {
	// Read fills batch with frames that have come, at least one unless it has waited for so long or
	// was woken: then it gives none. Below zero it waits as long as it takes. One goroutine at a
	// time. The error is net.ErrClosed, or says that the device is gone; it stays.
	Read(batch []Frame, wait time.Duration) (int, error)

	// Write sends a frame, or drops it, and says whether it was sent. It never waits. Any
	// goroutine.
	Write(p *Parts) bool

	// Wake has the Read that waits, or the next one that would wait, return. Any goroutine, also
	// when the link is closed.
	Wake()

	// Counters may be called at any time, by any goroutine.
	Counters() Counters
}

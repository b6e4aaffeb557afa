package tcp

import "weir/wire"

// Segment is one that came: its checksum is right, and it is for this connection. Bytes die when
// the call returns.
type Segment struct {
	Seq, Ack wire.Seq
	Flags    wire.Flags
	Window   uint16 // not scaled
	Urgent   uint16 // with URG
	CE       bool   // by the network, which is crowded (CE of RFC 3168)
	Options  wire.TCPOptions
	Payload  []byte // maybe of several segments of the wire, merged
}

// ParseSegment is a segment of its view. Options that are broken count as far as they could be
// read.
func ParseSegment(v wire.TCP) Segment {
	o, _ := wire.ParseTCPOptions(v.Options())
	return Segment{Seq: v.Seq(), Ack: v.Ack(), Flags: v.Flags(), Window: v.Window(), Urgent: v.Urgent(), Options: o, Payload: v.Payload()}
}

// End is the place behind it in the stream.
func (s *Segment) End() wire.Seq {
	n := len(s.Payload)
	if s.Flags&wire.SYN != 0 {
		n++
	}
	if s.Flags&wire.FIN != 0 {
		n++
	}
	return s.Seq.Add(n)
}

// Sending is a segment to send. The payload's bytes are the connection's, and live until its next
// call.
type OutSegment struct {
	Seq, Ack wire.Seq
	Flags    wire.Flags
	Window   uint16
	Urgent   uint16 // with URG
	ECT      bool   // the network may mark it instead of dropping it (ECT(0) of RFC 3168)
	Options  wire.TCPOptions
	Payload  [2][]byte // one after the other
	// bytes of payload a segment of the wire carries, when there are more than one's: a device cuts
	// it there
	SegmentSize int
}

// Len is the payload's length.
func (s *OutSegment) Len() int { return len(s.Payload[0]) + len(s.Payload[1]) }

// Emit sends a segment. It is called by Output, and must neither keep the segment nor call the
// connection.
type Emit func(*OutSegment)

// State is a connection's (RFC 9293, section 3.3.2).
type State uint8

// The states. A listener is the stack's.
const (
	Closed State = iota
	SynSent
	SynReceived
	Established
	FinWait1
	FinWait2
	CloseWait
	Closing
	LastAck
	TimeWait
)

var stateNames = [...]string{"CLOSED", "SYN-SENT", "SYN-RECEIVED", "ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING", "LAST-ACK", "TIME-WAIT"}

// String is the state's name in the RFC.
func (s State) String() string { return stateNames[s] }

// synchronized says whether both ends have seen each other's SYN.
func (s State) synchronized() bool { return s >= Established }

// Event is what happened since events were last asked for: bits.
type Event uint16

// The events.
const (
	Connected Event = 1 << iota // both ends are there
	Readable                    // there is something to read, or the end
	Writable                    // there is room to write again
	Urgent                      // the peer says that what it sends is urgent, or more of it
	Starved                     // there was no memory: Conn.Starved says how often
	Ended                       // the connection is CLOSED: it can be forgotten
)

// Cause is why a connection ended before its time.
type Cause uint8

// The causes.
const (
	NoCause     Cause = iota
	Refused           // the peer answered the SYN with RST
	Reset             // the peer sent RST
	TimedOut          // the peer did not answer
	Unreachable       // the network says so (RFC 5461)
	Aborted           // by Abort
	NoMemory          // there were no buffers for too long
)

var causeNames = [...]string{"no cause", "connection refused", "connection reset by peer", "connection timed out", "no route to host", "connection aborted", "out of buffers"}

// String says it in a few words.
func (c Cause) String() string { return causeNames[c] }

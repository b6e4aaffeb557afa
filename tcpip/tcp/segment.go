package tcp

import "weir/wire"

// Segment is a received segment with a valid checksum that belongs to this connection. Its bytes
// are valid only until the call returns.
type Segment struct {
	Seq, Ack wire.Seq
	Flags    wire.Flags
	Window   uint16 // not scaled
	Urgent   uint16 // urgent pointer, if URG is set
	CE       bool   // the network marked it: Congestion Experienced (RFC 3168)
	Options  wire.TCPOptions
	Payload  []byte // of one or several segments of the wire, merged
}

// ParseSegment reads a segment from its view. Of malformed options it keeps those before the fault.
func ParseSegment(v wire.TCP) Segment {
	o, _ := wire.ParseTCPOptions(v.Options())
	return Segment{Seq: v.Seq(), Ack: v.Ack(), Flags: v.Flags(), Window: v.Window(), Urgent: v.Urgent(), Options: o, Payload: v.Payload()}
}

// End is the sequence number after the segment; SYN and FIN count as one each.
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

// OutSegment is a segment to send. Its payload points into the connection's send buffer and is
// valid until the next call.
type OutSegment struct {
	Seq, Ack wire.Seq
	Flags    wire.Flags
	Window   uint16 // scaled
	Urgent   uint16 // urgent pointer, if URG is set
	ECT      bool   // ECN-capable transport (RFC 3168): the network may mark it, not drop it
	Options  wire.TCPOptions
	Payload  [2][]byte // the second part follows the first
	// SegmentSize is the payload of each segment that the device splits this one into (TSO); 0:
	// it is one segment of the wire.
	SegmentSize int
}

// Len is the length of the payload in bytes.
func (s *OutSegment) Len() int { return len(s.Payload[0]) + len(s.Payload[1]) }

// Emit sends a segment. Output calls it; it must neither keep the segment nor call the connection.
type Emit func(*OutSegment)

// State is the state of a connection (RFC 9293, section 3.3.2).
type State uint8

// The states of a connection. LISTEN is a state of the stack, not of a connection.
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

// String returns the name of the state in the RFC.
func (s State) String() string { return stateNames[s] }

// synchronized reports whether the connection is in one of the synchronized states (RFC 9293,
// section 3.5.3).
func (s State) synchronized() bool { return s >= Established }

// Event is a set of bits: what happened since the last call of Events.
type Event uint16

// The events, for the application.
const (
	Connected Event = 1 << iota // the handshake is complete
	Readable                    // there is data to read, or the end of the stream
	Writable                    // there is room to write again
	Urgent                      // the peer has sent a new urgent pointer
	// segments were dropped for want of memory: Conn.TakeStarved counts them
	Starved
	Ended // the connection is CLOSED and can be released
)

// Cause is why a connection ended early.
type Cause uint8

// The causes of an early end.
const (
	NoCause     Cause = iota
	Refused           // the peer answered the SYN with RST
	Reset             // the peer sent RST
	TimedOut          // the peer did not answer in time
	Unreachable       // the network reported it (RFC 5461)
	Aborted           // Abort was called
	NoMemory          // there was no memory for buffers for too long
)

var causeNames = [...]string{"no cause", "connection refused", "connection reset by peer", "connection timed out", "no route to host", "connection aborted", "out of buffers"}

// String describes the cause in a few words.
func (c Cause) String() string { return causeNames[c] }

package chat

import (
	"weir/lab/load/internal/tally"
	"weir/lab/result"
)

// Report is what a run did, as data. Units stand in the JSON names; counts are of the measured
// window unless said otherwise (see the package comment for what that means).
type Report struct {
	Target  string `json:"target"`
	Address string `json:"address"`
	Members int    `json:"members"`
	Rooms   int    `json:"rooms"`
	Senders int    `json:"senders"`
	// messages a second asked for in all, 0 in the closed loop and in a replay
	Rate    float64 `json:"rate"`
	Size    int     `json:"size"` // bytes of text a message
	Idle    int     `json:"idle"`
	Caps    string  `json:"caps"`    // capabilities that the first member got
	History string  `json:"history"` // of a replay: "chathistory" or "on joining"; else empty

	// deliveries a second that were due; in the other loads those that came
	OfferedRate float64 `json:"offered_rate"`
	MessageRate float64 `json:"message_rate"` // deliveries a second that came
	// open loop: of the messages due in the window, those that were sent in it; else 1
	AchievedRatio float64 `json:"achieved_ratio"`
	Offered       int64   `json:"offered"`  // deliveries of the messages that were due
	Answered      int64   `json:"answered"` // of these, come, if perhaps after the window
	Messages      int64   `json:"messages"` // deliveries that came in the window
	Sent          int64   `json:"sent"`     // messages sent in the window
	// deliveries that had not come in the end, the whole run
	Missing int64 `json:"missing"`
	Bytes   int64 `json:"bytes"` // of Messages, whole lines
	// messages whose sender's connection was full when they were due
	Behind       int64 `json:"behind"`
	WarmMessages int64 `json:"warm_messages"` // deliveries before the window
	Replays      int64 `json:"replays"`       // whole ones in the window

	// open loop: actual - due time of sending
	LatenessUS result.Percentiles `json:"lateness_us"`
	// of Answered: from the due time, else from sending, to the delivery
	LatencyUS result.Percentiles `json:"latency_us"`
	// from asking, or joining, to the last message
	ReplayUS result.Percentiles `json:"replay_us,omitzero"`
	// from the first connection to the last member's being in its room
	JoinNS int64 `json:"join_ns"`

	// a sender each, the whole run, if they were asked for
	Acknowledged []Acknowledged `json:"acknowledged,omitempty"`

	// kind to count, the whole run; empty when nothing went wrong
	Errors    map[string]int64 `json:"errors"`
	Details   []string         `json:"details,omitempty"` // the first few errors in full
	Interrupt bool             `json:"interrupted,omitzero"`

	CPUNS      int64 `json:"cpu_ns"`       // of this process
	RunQueueNS int64 `json:"run_queue_ns"` // the loop's thread was ready and waited for a core
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; the window's begin
}

// Acknowledged is what a sender knows to be accepted: its messages 0 to Messages-1. A text is Mark,
// the sender's and the message's number in eight letters from a to p each, and padding.
type Acknowledged struct {
	Room     string `json:"room"`
	Nick     string `json:"nick"`
	Mark     string `json:"mark"`
	Sender   uint32 `json:"sender"`
	Sent     uint32 `json:"sent"`
	Messages uint32 `json:"acknowledged"`
	How      string `json:"how"` // "echo" or "pong"
}

// The kinds of errors.
const (
	kindClosed   = "closed"   // the server ended a connection
	kindReset    = "reset"    // the server reset one
	kindRefused  = "refused"  // the server refused a command with a numeric, FAIL or ERROR
	kindLost     = "lost"     // a delivery was passed over: a later one of its sender came
	kindRepeated = "repeated" // it came twice, or after a later one of its sender
	kindMissing  = "missing"  // it had not come in the end
	kindWrong    = "wrong"    // its text, sender or room is not what was sent
	kindForeign  = "foreign"  // a message of somebody else
	// a replay, or the deliveries of a closed loop's message, took longer than the timeout
	kindTimeout = "timeout"
)

// Trouble is one line that tells all errors by kind, or empty.
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }

package chatload

import (
	"weir/lab/internal/tally"
	"weir/lab/result"
)

// Report is the outcome of a run. Units are part of the JSON names. Counts are of the measured
// window unless stated otherwise (defined in the package's documentation).
type Report struct {
	Target  string `json:"target"`
	Address string `json:"address"`
	Members int    `json:"members"`
	Rooms   int    `json:"rooms"`
	Senders int    `json:"senders"`
	// messages a second offered in total; 0 in the closed loop and in a replay
	Rate    float64 `json:"rate"`
	Size    int     `json:"size"` // bytes of text per message
	Idle    int     `json:"idle"`
	Caps    string  `json:"caps"`    // capabilities of the first member
	History string  `json:"history"` // replay: "chathistory" or "on joining"; otherwise empty

	// open loop: deliveries a second that were due; otherwise those that arrived
	OfferedRate float64 `json:"offered_rate"`
	MessageRate float64 `json:"message_rate"` // deliveries a second that arrived
	// open loop: share of the messages due in the window that were sent in it; otherwise 1
	AchievedRatio float64 `json:"achieved_ratio"`
	Offered       int64   `json:"offered"`  // deliveries of the messages that were due
	Answered      int64   `json:"answered"` // of these, arrived, perhaps after the window
	Messages      int64   `json:"messages"` // deliveries that arrived in the window
	Sent          int64   `json:"sent"`     // messages sent in the window
	// deliveries that had not arrived at the end, over the whole run
	Missing int64 `json:"missing"`
	Bytes   int64 `json:"bytes"` // of Messages, whole lines
	// messages whose sender's connection was full when they were due
	Behind       int64 `json:"behind"`
	WarmMessages int64 `json:"warm_messages"` // deliveries before the window
	Replays      int64 `json:"replays"`       // completed in the window

	// open loop: actual minus due time of sending
	LatenessUS result.Percentiles `json:"lateness_us"`
	// of Answered: from the due time (open loop) or from sending to the delivery
	LatencyUS result.Percentiles `json:"latency_us"`
	// from the request, or from JOIN, to the last message
	ReplayUS result.Percentiles `json:"replay_us,omitzero"`
	// from the first connection until the last member is in its room
	JoinNS int64 `json:"join_ns"`

	// one per sender, over the whole run, if requested
	Acknowledged []Acknowledged `json:"acknowledged,omitempty"`

	// by kind, over the whole run; empty if there were none
	Errors    map[string]int64 `json:"errors"`
	Details   []string         `json:"details,omitempty"` // the first few errors in full
	Interrupt bool             `json:"interrupted,omitzero"`

	CPUNS int64 `json:"cpu_ns"` // CPU of this process
	// time in which the loop's thread was runnable, but not running
	RunQueueNS int64 `json:"run_queue_ns"`
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; the start of the window
}

// Acknowledged describes the acknowledged messages of a sender: 0 to Messages-1. A text is Mark,
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
	kindReset    = "reset"    // the server reset a connection
	kindRefused  = "refused"  // the server rejected a command with a numeric, FAIL or ERROR
	kindLost     = "lost"     // a later delivery of the same sender arrived first
	kindRepeated = "repeated" // a delivery arrived twice, or after a later one of its sender
	kindMissing  = "missing"  // a delivery had not arrived at the end
	kindWrong    = "wrong"    // text, sender or room differ from what was sent
	kindForeign  = "foreign"  // a message that the generator did not send
	// a replay, or the deliveries of a closed loop's message, took longer than the timeout
	kindTimeout = "timeout"
)

// Trouble returns all errors by kind in one line; empty if there are none.
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }

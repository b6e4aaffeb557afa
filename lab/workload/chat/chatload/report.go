package chatload

import (
	"weir/lab/load"
	"weir/lab/result"
)

// Report is the outcome of a run. Its messages are deliveries, whole lines with all their bytes:
// see the package's documentation. AchievedRatio is the share of the messages due in the window
// that were sent in it, and 1 without a rate. Behind and LatenessUS are of messages, in the open
// loop.
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

	load.Report
	Sent int64 `json:"sent"` // messages sent in the window
	// deliveries that had not arrived at the end, over the whole run
	Missing int64 `json:"missing"`
	Replays int64 `json:"replays"` // completed in the window
	// from the request, or from JOIN, to the last message
	ReplayUS result.Percentiles `json:"replay_us,omitzero"`
	// from the first connection until the last member is in its room
	JoinNS int64 `json:"join_ns"`

	// one per sender, over the whole run, if requested
	Acknowledged []Acknowledged `json:"acknowledged,omitempty"`
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

// The kinds of errors beside those of package oneloop.
const (
	kindRefused  = "refused"  // the server rejected a command with a numeric, FAIL or ERROR
	kindLost     = "lost"     // a later delivery of the same sender arrived first
	kindRepeated = "repeated" // a delivery arrived twice, or after a later one of its sender
	kindMissing  = "missing"  // a delivery had not arrived at the end
	kindWrong    = "wrong"    // text, sender or room differ from what was sent
	kindForeign  = "foreign"  // a message that the generator did not send
)

package chat

import (
	"fmt"
	"strings"

	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/chat/chatload"
)

// Load is the messages in a room. Connections are its members, and each member sends Rate messages
// a second. Without a Rate the loop is closed: the next message is sent when all members have
// received the last. A message of the results is the delivery to a member.
type Load struct {
	workload.Common
	Size   int    `toml:"size"`   // bytes of text per message; 0: 80
	Idle   int    `toml:"idle"`   // further connections that register and stay silent
	Replay int    `toml:"replay"` // messages of history that new members read, instead of sending
	Caps   string `toml:"caps"`   // IRC capabilities that members request, separated by commas
}

// textSize is the default number of bytes of text per message.
const textSize = 80

// Clone implements workload.Load.
func (l *Load) Clone() workload.Load { c := *l; return &c }

// Pattern implements workload.Load.
func (l *Load) Pattern() string { return l.LoopPattern("") }

// Check implements workload.Load.
func (l *Load) Check(in workload.Context) string {
	workload.SetDefault(&l.Size, textSize)
	if bad := workload.Duplicate("connections", l.Connections); bad != "" {
		return bad
	}
	for _, n := range in.Connections {
		c := chatload.Config{Target: "127.0.0.1:1", Members: n, Rooms: 1, Rate: l.Rate * float64(n), Size: l.Size, Idle: l.Idle, Replay: l.Replay}
		if err := c.Check(true); err != nil {
			return fmt.Sprintf("with %d members: %s", n, strings.TrimPrefix(err.Error(), "load: "))
		}
	}
	return ""
}

// MessageRate implements workload.Load.
func (l *Load) MessageRate(connections int) float64 {
	if l.Rate > 0 { // each message is delivered to the others
		return l.Rate * float64(connections) * float64(max(1, connections-1))
	}
	return workload.GuessedRate
}

// Recorded implements workload.Load.
func (l *Load) Recorded() result.Load {
	r := l.Common.Recorded()
	r.Size, r.Idle, r.Rooms = l.Size, l.Idle, result.Rooms{Replay: l.Replay, Caps: l.Caps}
	return r
}

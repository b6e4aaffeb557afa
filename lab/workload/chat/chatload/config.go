package chatload

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"weir/lab/load"
)

// The limits of a Config. They protect the machine from typing errors.
const (
	MaxMembers = 2000      // each tracks every sender of its room
	MaxRate    = 1_000_000 // messages a second
	// bytes; a line of IRC has at most 512 with everything before the text
	MaxSize   = 400
	MinSize   = textLeast
	MaxReplay = 10_000_000
)

// Config describes the load to offer. Run does not modify it.
type Config struct {
	Target   string        // HOST:PORT
	Members  int           // 1 to MaxMembers
	Rooms    int           // 1 to Members; member i is in room i modulo Rooms
	Senders  int           // number of members that send, the first ones; 0: all
	Rate     float64       // messages a second in total (open loop); 0: closed loop
	Size     int           // bytes of text per message, MinSize to MaxSize
	Duration time.Duration // length of the measured window; 0 only if steered
	// limit on waiting for deliveries after the window, and for a step of joining; 0:
	// load.DefaultTimeout
	Timeout time.Duration
	Idle    int // further connections that register and do not join
	// instead of sending: fill a room with this many messages and have new members read them; 0: no
	// replay
	Replay int
	Caps   []string // capabilities to request, each if the server has it
	Pass   string   // password that every connection sends if not empty
	Prefix string   // of nicks and rooms; empty: "w"
	// record for every sender which messages were acknowledged: echoed, or covered by a PONG
	Acks bool
	// the cores that every thread of this process is bound to; empty: unchanged
	CPUs       []int
	Histograms bool // the report has the distributions as histograms, for load.Merge
}

// Check returns an error that says in one sentence what is wrong with c. A steered run needs no
// Duration. The error is a load.ErrUsage.
func (c Config) Check(steered bool) error {
	return cmp.Or(load.CheckTarget(c.Target), load.Common{Connections: max(1, c.Members), Rate: c.Rate, MaxRate: MaxRate, Unit: "messages", Duration: c.Duration, Timeout: c.Timeout, CPUs: c.CPUs}.
		Check(!steered, c.checkMembers(), c.checkWords()))
}

func (c Config) checkMembers() string {
	switch {
	case c.Members < 1 || c.Members > MaxMembers:
		return fmt.Sprintf("%d members are out of range: give 1 to %d", c.Members, MaxMembers)
	case c.Rooms < 1 || c.Rooms > c.Members:
		return fmt.Sprintf("%d rooms are out of range for %d members: give 1 to as many as there are members", c.Rooms, c.Members)
	case c.Senders < 0 || c.Senders > c.Members:
		return fmt.Sprintf("%d senders are out of range: give 1 to the number of members, %d", c.Senders, c.Members)
	case c.Idle < 0 || c.Idle > load.MaxConnections:
		return fmt.Sprintf("%d idle connections are out of range: give 0 to %d", c.Idle, load.MaxConnections)
	case c.Size < MinSize || c.Size > MaxSize:
		return fmt.Sprintf("a text of %d bytes is out of range: give %d to %d", c.Size, MinSize, MaxSize)
	case c.Replay < 0 || c.Replay > MaxReplay:
		return fmt.Sprintf("a replay of %d messages is out of range: give 1 to %d", c.Replay, MaxReplay)
	case c.Replay > 0 && c.Rate > 0:
		return "a replay has no rate: leave --rate out"
	}
	return ""
}

func (c Config) checkWords() string {
	for _, w := range append([]string{c.Pass}, c.Caps...) {
		if strings.ContainsAny(w, " \r\n\x00") {
			return fmt.Sprintf("%q contains a blank or an end of line, which IRC does not allow", w)
		}
	}
	if len(c.Prefix) > 3 || strings.Trim(c.Prefix, "abcdefghijklmnopqrstuvwxyz") != "" {
		return fmt.Sprintf("the prefix %q is not one to three letters from a to z", c.Prefix)
	}
	return ""
}

func (c Config) timeout() time.Duration { return cmp.Or(c.Timeout, load.DefaultTimeout) }

func (c Config) senders() int { return cmp.Or(c.Senders, c.Members) }

func (c Config) prefix() string { return cmp.Or(c.Prefix, "w") }

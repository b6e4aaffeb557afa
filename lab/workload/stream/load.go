package stream

import (
	"fmt"
	"strings"

	"weir/lab/result"
	"weir/lab/workload"
)

// Load is the messages offered to a subject. Each connection sends Rate messages of Size bytes a
// second, or Bits a second cut into writes as tcpkali's bandwidth mode does: an open loop. In
// addition Idle connections may be held open, and Churn short connections a second connect, send
// one message of Size bytes and close. The message of a short connection counts as any other.
type Load struct {
	workload.Common
	Size   int     `toml:"size"`    // bytes per message
	Bits   float64 `toml:"bits"`    // bits a second per connection; 0: Rate is used
	Idle   int     `toml:"idle"`    // connections on which nothing is sent
	Churn  float64 `toml:"churn"`   // short connections a second, in total
	WorkUS int     `toml:"work_us"` // microseconds of computing per message in the subject
	WaitMS int     `toml:"wait_ms"` // milliseconds of waiting per message in the subject
}

// Clone implements workload.Load.
func (l *Load) Clone() workload.Load { c := *l; return &c }

// Pattern implements workload.Load: an experiment chooses its patterns.
func (*Load) Pattern() string { return "" }

// Check implements workload.Load. It computes the rate of a load with bits, for the results.
func (l *Load) Check(c workload.Context) string {
	switch {
	case len(l.Connections) > 0:
		return "a load of messages has no connections of its own: set connections for the experiment"
	case l.Cold:
		return "a load of messages cannot be cold: leave that out, or set another workload"
	case l.WorkUS < 0 || l.WorkUS > 1e6 || l.WaitMS < 0 || l.WaitMS > 60_000:
		return "work_us must be from 0 to 1000000 and wait_ms from 0 to 60000"
	case c.Capacity && (l.Bits != 0 || l.Rate == 0):
		return "saturation raises the rate of messages: give it a rate, and no bits"
	}
	bad := l.unofferable(c)
	if bad == "" && l.Bits > 0 {
		l.Rate = l.Bits / 8 / float64(l.Size)
	}
	return bad
}

// unofferable returns why the generator cannot offer l in some cell; empty if it can.
func (l *Load) unofferable(in workload.Context) string {
	for _, n := range in.Connections {
		for _, pattern := range in.Patterns {
			c := l.config(n, pattern, in.Workload == "echo")
			c.Target = "127.0.0.1:1" // a placeholder: Check needs a valid address
			switch err := c.Check(true); {
			case err != nil:
				return fmt.Sprintf("with %d connections, %s: %s", n, pattern, strings.TrimPrefix(err.Error(), "load: "))
			case n == 0 && l.Churn == 0:
				return "with 0 connections: nothing is sent, so there is nothing to measure: give connections, or churn"
			case n == 0 && in.Capacity:
				return "with 0 connections: saturation raises the rate of connections that send: give some"
			}
		}
	}
	return ""
}

// MessageRate implements workload.Load.
func (l *Load) MessageRate(connections int) float64 { return l.Rate*float64(connections) + l.Churn }

// Recorded implements workload.Load.
func (l *Load) Recorded() result.Load {
	r := l.Common.Recorded()
	r.Size, r.Bits, r.Idle, r.Churn, r.WorkUS, r.WaitMS = l.Size, l.Bits, l.Idle, l.Churn, l.WorkUS, l.WaitMS
	return r
}

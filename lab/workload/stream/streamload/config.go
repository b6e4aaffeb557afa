package streamload

import (
	"cmp"
	"fmt"
	"math"
	"time"
	"weir/lab/load"
)

// The limits of a Config. They protect the machine from typing errors.
const (
	MaxRate      = 1_000_000      // messages a second per connection
	MaxTotalRate = 2_000_000      // messages a second, all connections
	MaxSize      = 1 << 20        // bytes per message
	MaxBits      = 10_000_000_000 // bits a second per connection
	MaxChurn     = 50_000         // short-lived connections a second
)

// Config describes the load to offer. Run does not modify it.
type Config struct {
	// HOST:PORT; HOST is an IPv4 address, an IPv6 address in brackets, or a name
	Target      string
	Connections int // connections that send; 0 to load.MaxConnections, 0 only with Idle or Churn
	// messages a second per connection, the mean for Poisson; above 0 to MaxRate; 0 with Bits
	Rate float64
	Size int // bytes per message; 1 to MaxSize
	// Staggered, Together or Poisson; empty: Staggered, and with Bits Together
	Pattern  string
	Duration time.Duration // of the measured window; required without Events.Commands
	Seed     uint64        // of the Poisson processes
	// the server echoes: compare every byte, and measure the latency of every message
	Echo bool
	// bits a second per connection, cut into writes as tcpkali does; 0: messages at Rate
	Bits float64
	Idle int // connections that are held open and send nothing
	// short connections a second that connect, send one message and close; 0: none
	Churn float64
	// the cores that every thread of this process is bound to; empty: unchanged
	CPUs       []int
	Histograms bool // the report has the distributions as histograms, for load.Merge
}

// Check returns an error that says in one sentence what is wrong with c. A steered run needs no
// Duration.
func (c Config) Check(steered bool) error {
	return cmp.Or(load.CheckTarget(c.Target), load.Common{Connections: max(1, c.Connections), Rate: c.Rate, MaxRate: MaxRate, Unit: "messages", Pattern: c.Pattern, Duration: c.Duration, CPUs: c.CPUs}.
		Check(!steered, c.checkCounts(), c.checkRate(), c.checkBits()))
}

func (c Config) checkCounts() string {
	switch {
	case c.Connections < 0 || c.Idle < 0 || c.Connections+c.Idle > load.MaxConnections:
		return fmt.Sprintf("%d connections and %d idle ones are out of range: together 0 to %d", c.Connections, c.Idle, load.MaxConnections)
	case !(c.Churn >= 0 && c.Churn <= MaxChurn):
		return fmt.Sprintf("a churn of %v connections a second is out of range: give 0 to %d", c.Churn, MaxChurn)
	case c.Connections == 0 && c.Idle == 0 && c.Churn == 0:
		return "no connections, none idle and no churn: give at least one of them"
	case c.Size < 1 || c.Size > MaxSize:
		return fmt.Sprintf("messages of %d bytes are out of range: give 1 to %d", c.Size, MaxSize)
	}
	return ""
}

func (c Config) checkRate() string {
	if c.Bits != 0 || c.Connections == 0 {
		return ""
	}
	if c.Rate == 0 || math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0) {
		return fmt.Sprintf("a rate of %v messages a second is out of range: give 0.001 to %d", c.Rate, MaxRate)
	}
	if total := c.Rate * float64(c.Connections); total > MaxTotalRate {
		return fmt.Sprintf("%.0f messages a second over all connections are out of range: at most %d", total, MaxTotalRate)
	}
	return ""
}

func (c Config) checkBits() string {
	switch {
	case c.Bits == 0:
		return ""
	case !(c.Bits >= 8 && c.Bits <= MaxBits):
		return fmt.Sprintf("%v bits a second are out of range: give 8 to %d", c.Bits, int64(MaxBits))
	case c.Rate != 0:
		return "a rate and bits a second exclude one another: give one of them"
	case c.Echo:
		return "the latency of echoes cannot be measured with bits a second, which have no schedule of messages: give a rate instead"
	case c.Pattern == load.Poisson:
		return "bits a second are sent as tcpkali does, which has no Poisson arrivals: use together (its default) or staggered"
	}
	return ""
}

// grace returns how long after the end of the window, in ns, a message that was due in it may be
// sent and still count as achieved. It is one period (with bits one tick), at most 10 ms. Without
// it the last burst would be cut off; the lateness still shows how late it was.
func (c Config) grace() int64 {
	if c.Bits > 0 {
		return bitsTick
	}
	return int64(min(c.period(), 10e6))
}

// pattern returns c's pattern, or the default.
func (c Config) pattern() string {
	switch {
	case c.Pattern != "":
		return c.Pattern
	case c.Bits != 0:
		return load.Together
	}
	return load.Staggered
}

// period returns the mean time between two messages of a connection in nanoseconds; 0 if there are
// none.
func (c Config) period() float64 {
	if c.Rate == 0 || math.IsInf(c.Rate, 0) {
		return 0
	}
	return 1e9 / c.Rate
}

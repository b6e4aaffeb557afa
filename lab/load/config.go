package load

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"weir/lab/load/internal/schedule"
)

// The arrival patterns.
const (
	// connection i of N is i/N of a period after connection 0: evenly spaced arrivals
	Staggered = schedule.Staggered
	Together  = schedule.Together // all connections are due at the same instants
	Poisson   = schedule.Poisson  // each connection is an independent Poisson process
)

// Patterns lists all arrival patterns.
var Patterns = slices.Clone(schedule.Patterns)

// The limits of a Config. They protect the machine from typing errors.
const (
	// sum of connections and idle ones: one source address has no more ports for one target
	MaxConnections = 60_000
	MaxRate        = 1_000_000        // messages a second per connection
	MaxTotalRate   = 2_000_000        // messages a second, all connections
	MaxSize        = 1 << 20          // bytes per message
	MaxBits        = 10_000_000_000   // bits a second per connection
	MaxChurn       = 50_000           // short-lived connections a second
	MaxDuration    = 24 * time.Hour   // of the measured window
	MinDuration    = time.Millisecond // of the measured window
)

// Config describes the load to offer. Run does not modify it.
type Config struct {
	// HOST:PORT; HOST is an IPv4 address, an IPv6 address in brackets, or a name
	Target      string
	Connections int // connections that send; 0 to MaxConnections, 0 only with Idle or Churn
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
	CPUs []int
}

// ServerFailed starts an error that the server caused and not the generator: it did not accept the
// load, or did not sustain it to the end.
const ServerFailed = "load: the server failed: "

// ErrUsage is wrapped by every error about an invalid Config.
var ErrUsage = errors.New("load: bad configuration")

type usageError struct{ text string }

func (u usageError) Error() string        { return "load: " + u.text }
func (u usageError) Is(target error) bool { return target == ErrUsage }

// Check returns an error that says in one sentence what is wrong with c. A steered run needs no
// Duration.
func (c Config) Check(steered bool) error {
	for _, check := range []func() string{c.checkTarget, c.checkCounts, c.checkRate, c.checkBits} {
		if why := check(); why != "" {
			return usageError{why}
		}
	}
	if !steered && (c.Duration < MinDuration || c.Duration > MaxDuration) {
		return usageError{fmt.Sprintf("a duration of %v is out of range: give %v to %v", c.Duration, MinDuration, MaxDuration)}
	}
	return nil
}

// CheckTarget returns an error that says in one sentence why target is not the address of a server.
func CheckTarget(target string) error {
	if why := (Config{Target: target}).checkTarget(); why != "" {
		return usageError{why}
	}
	return nil
}

func (c Config) checkTarget() string {
	host, port, err := net.SplitHostPort(c.Target)
	if err != nil || host == "" || port == "" || port == "0" {
		return fmt.Sprintf("the target %q is not HOST:PORT: write 127.0.0.1:7000, [::1]:7000 or example.org:7000", c.Target)
	}
	return ""
}

func (c Config) checkCounts() string {
	switch {
	case c.Connections < 0 || c.Idle < 0 || c.Connections+c.Idle > MaxConnections:
		return fmt.Sprintf("%d connections and %d idle ones are out of range: together 0 to %d", c.Connections, c.Idle, MaxConnections)
	case !(c.Churn >= 0 && c.Churn <= MaxChurn):
		return fmt.Sprintf("a churn of %v connections a second is out of range: give 0 to %d", c.Churn, MaxChurn)
	case c.Connections == 0 && c.Idle == 0 && c.Churn == 0:
		return "no connections, none idle and no churn: give at least one of them"
	case c.Size < 1 || c.Size > MaxSize:
		return fmt.Sprintf("messages of %d bytes are out of range: give 1 to %d", c.Size, MaxSize)
	case slices.ContainsFunc(c.CPUs, func(cpu int) bool { return cpu < 0 || cpu > 1023 }):
		return fmt.Sprintf("the CPUs %v are out of range: give numbers from 0 to 1023", c.CPUs)
	}
	return ""
}

func (c Config) checkRate() string {
	if c.Pattern != "" && !slices.Contains(Patterns, c.Pattern) {
		return fmt.Sprintf("the pattern %q is unknown: use staggered, together or poisson", c.Pattern)
	}
	if c.Bits != 0 || c.Connections == 0 {
		return ""
	}
	if !(c.Rate >= 1e-3 && c.Rate <= MaxRate) {
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
	case c.Pattern == Poisson:
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
		return Together
	}
	return Staggered
}

// period returns the mean time between two messages of a connection in nanoseconds; 0 if there are
// none.
func (c Config) period() float64 {
	if c.Rate == 0 || math.IsInf(c.Rate, 0) {
		return 0
	}
	return 1e9 / c.Rate
}

package load

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	"weir/lab/internal/schedule"
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

// The limits of all loads. They protect the machine from typing errors.
const (
	// sum of connections and idle ones: one source address has no more ports for one target
	MaxConnections = 60_000
	MaxDuration    = 24 * time.Hour   // of the measured window
	MinDuration    = time.Millisecond // of the measured window
	// messages a second, of all connections or of each as the load defines it
	MinRate        = 1e-3
	maxCPU         = 1023
	minTimeout     = time.Millisecond
	maxTimeout     = 4 * time.Minute // the longest time that can be recorded
	DefaultTimeout = 5 * time.Second
)

// ServerFailed starts an error that the server caused and not the generator: it did not accept the
// load, or did not sustain it to the end.
const ServerFailed = "load: the server failed: "

// CannotConnect starts an error of a server that is not reached, before there is any load.
const CannotConnect = "load: can't connect to "

// ErrUsage is wrapped by every error about an invalid setting of a load.
var ErrUsage = errors.New("load: bad configuration")

// UsageError is the error about an invalid setting of a load, without the prefix "load: ". It is
// ErrUsage.
type UsageError string

func (u UsageError) Error() string { return "load: " + string(u) }

// Is reports whether target is ErrUsage.
func (u UsageError) Is(target error) bool { return target == ErrUsage }

// NeedsLinux returns the error of a generator on a system that it does not support.
func NeedsLinux() error {
	return fmt.Errorf("load: the generator needs Linux, and this is %s: run it on a Linux machine with this machine's address as the target", runtime.GOOS)
}

// CheckTarget returns an error that says in one sentence why target is not the address of a server,
// HOST:PORT.
func CheckTarget(target string) error {
	host, port, err := net.SplitHostPort(target)
	if err != nil || host == "" || port == "" || port == "0" {
		return UsageError(fmt.Sprintf("the target %q is not HOST:PORT: write 127.0.0.1:7000, [::1]:7000 or example.org:7000", target))
	}
	return nil
}

// Common are the settings that all loads have, or most of them.
type Common struct {
	Connections int     // 1 to MaxConnections
	Rate        float64 // messages a second; 0: none, or a closed loop
	MaxRate     float64
	Unit        string // of Rate, a plural
	Pattern     string // one of Patterns; empty: the load's default
	Duration    time.Duration
	Timeout     time.Duration // 0: the load's default
	CPUs        []int
}

// Check returns an error that Is ErrUsage and says in one sentence what is wrong. The reasons of
// the load itself, which are empty where nothing is wrong, come first. Without needed, Duration may
// be 0.
func (c Common) Check(needed bool, reasons ...string) error {
	if why := cmp.Or(append(reasons, c.wrong())...); why != "" {
		return UsageError(why)
	}
	if needed || c.Duration != 0 {
		return CheckDuration(c.Duration)
	}
	return nil
}

func (c Common) wrong() string {
	switch {
	case c.Connections < 1 || c.Connections > MaxConnections:
		return fmt.Sprintf("%d connections are out of range: give 1 to %d", c.Connections, MaxConnections)
	case c.Rate != 0 && !(c.Rate >= MinRate && c.Rate <= c.MaxRate):
		return fmt.Sprintf("a rate of %v %s a second is out of range: give 0.001 to %.0f, or none", c.Rate, c.Unit, c.MaxRate)
	case c.Pattern != "" && !slices.Contains(Patterns, c.Pattern):
		return fmt.Sprintf("the pattern %q is unknown: give staggered, together or poisson", c.Pattern)
	case c.Timeout != 0 && (c.Timeout < minTimeout || c.Timeout > maxTimeout):
		return fmt.Sprintf("a timeout of %v is out of range: give %v to %v", c.Timeout, minTimeout, maxTimeout)
	case slices.ContainsFunc(c.CPUs, func(cpu int) bool { return cpu < 0 || cpu > maxCPU }):
		return fmt.Sprintf("the CPUs %v are out of range: give numbers from 0 to %d", c.CPUs, maxCPU)
	}
	return ""
}

// CheckDuration returns an error that says in one sentence why d is not the length of a window.
func CheckDuration(d time.Duration) error {
	if d < MinDuration || d > MaxDuration {
		return UsageError(fmt.Sprintf("a duration of %v is out of range: give %v to %v", d, MinDuration, MaxDuration))
	}
	return nil
}

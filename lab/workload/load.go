package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"weir/lab/contract"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/subject"
)

// Common holds the settings that all loads have.
type Common struct {
	Name string `toml:"name"`
	// messages a second per connection; 0: a closed loop, or none where the load has no rate
	Rate float64 `toml:"rate"`
	// instead of Rate: messages a second over all connections, however many these are
	TotalRate float64 `toml:"total_rate"`
	// name of the load of which this is one of a sweep; empty: of none
	SweepOf string `toml:"-"`
	// replaces the experiment's connections; empty: those
	Connections []int `toml:"connections"`
	// the experiment's subjects that meet this load; empty: all
	Subjects []string `toml:"subjects"`
	// limit on the blocks in each of its cells; 0: as many as the other loads
	Blocks   int      `toml:"blocks"`
	Duration Duration `toml:"duration"` // length of its measured windows; 0: the experiment's
	Cold     bool     `toml:"cold"`     // measure from the first message on, without warm-up
}

// Shared returns the settings that all loads have, to be read and changed.
func (c *Common) Shared() *Common { return c }

// Recorded returns the part of a load in the results that all loads have.
func (c *Common) Recorded() result.Load {
	return result.Load{Name: c.Name, SweepOf: c.SweepOf, Rate: c.Rate, Requests: result.Requests{Cold: c.Cold, DurationS: time.Duration(c.Duration).Seconds()}}
}

// LoopPattern returns how messages arrive: in a closed loop without a rate, otherwise in the given
// pattern, or staggered where that is empty.
func (c *Common) LoopPattern(pattern string) string {
	if c.Rate == 0 {
		return result.Closed
	}
	return cmp.Or(pattern, load.Staggered)
}

// CheckLoop returns what is wrong with the load's connections, its rate or the arrival pattern of its
// messages, of which unit is the plural; empty if they are valid. connections are all that the load
// is offered on, and maxRate limits the rate over them.
func (c *Common) CheckLoop(unit, arrivals string, connections []int, maxRate float64) string {
	most := float64(slices.Max(connections))
	switch {
	case Duplicate("connections", c.Connections) != "":
		return Duplicate("connections", c.Connections)
	case slices.ContainsFunc(c.Connections, func(n int) bool { return n < 1 || n > load.MaxConnections }):
		return fmt.Sprintf("connections must be numbers from 1 to %d", load.MaxConnections)
	case c.Rate != 0 && !(c.Rate >= load.MinRate && c.Rate*most <= maxRate):
		return fmt.Sprintf("a rate of %v %s a second a connection is out of range: give %v to %.0f for %.0f connections, or none for a closed loop", c.Rate, unit, load.MinRate, maxRate/most, most)
	case arrivals != "" && !slices.Contains(load.Patterns, arrivals):
		return fmt.Sprintf("the pattern %q is unknown: give staggered, together or poisson", arrivals)
	case arrivals != "" && c.Rate == 0:
		return "a closed loop has no arrival pattern: give a rate with it"
	}
	return ""
}

// WarmUp implements Load for loads that warm up until they are steady.
func (c *Common) WarmUp() time.Duration { return 0 }

// Alone implements Load: it reports whether the subject measures itself, which it does not.
func (c *Common) Alone() bool { return false }

// Meets implements Load for loads without TLS: it reports whether a subject can meet the load.
func (c *Common) Meets(s *subject.Subject, _ bool) bool { return !s.OwnTLS }

// Needs implements Load for loads that every subject without TLS can meet.
func (c *Common) Needs() string { return "servers without TLS" }

// MessageRate implements Load for loads with a rate for each connection, or a closed loop.
func (c *Common) MessageRate(connections int) float64 {
	if c.Rate > 0 {
		return c.Rate * float64(connections)
	}
	return GuessedRate
}

// A Load is the work offered to a subject: one [[load]] of an experiment. Its type is the
// workload's own, and decodes from TOML and JSON.
type Load interface {
	// Shared returns the settings that all loads have, to be read and changed.
	Shared() *Common
	// Clone returns a copy whose settings can be changed.
	Clone() Load
	// Check sets defaults, and returns what is wrong with the load; empty if it is valid.
	Check(c Context) string
	// Pattern returns the arrival pattern; empty where the experiment chooses it.
	Pattern() string
	// MessageRate returns about how many messages a second the load makes over the connections.
	MessageRate(connections int) float64
	// Recorded returns the load as the results record it.
	Recorded() result.Load

	// WarmUp returns how long the load runs before the measured window; 0: until the subject's CPU
	// per message is steady.
	WarmUp() time.Duration
	// Alone reports whether the subject measures itself, without a generator.
	Alone() bool
	// Meets reports whether a subject can meet the load. It may run elsewhere, so that the lab does
	// not start it.
	Meets(s *subject.Subject, elsewhere bool) bool
	// Needs returns the phrase for the subjects that can meet the load: "subjects with {cert}".
	Needs() string
}

// Described is a load that describes its messages, so that servers that were not written for the
// lab can meet it.
type Described interface {
	Load
	// Contract returns the checks of what the load needs of a server, over the given number of
	// connections.
	Contract(connections int) contract.Kind
}

// Context is what a load needs to know of its experiment to be checked.
type Context struct {
	Workload    string   // the name of the workload
	Connections []int    // the numbers of connections of the load's cells
	Patterns    []string // the experiment's arrival patterns, where these do not depend on the load
	Capacity    bool     // the experiment searches for the capacity of its subjects
}

// Cell is one combination of load, number of connections and arrival pattern that subjects meet.
type Cell struct {
	Load        string // its name
	Connections int
	Pattern     string
}

// GuessedRate is the assumed rate of a closed loop per second, used to estimate the duration of a
// run before anything has been measured.
const GuessedRate = 5000

// Duration is a time.Duration that reads Go's notation ("1.5s") from a file.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Duplicate describes a value that a setting lists twice; it is empty if there is none.
func Duplicate[T comparable](setting string, values []T) string {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Sprintf("%s: %v is given twice", setting, v)
		}
	}
	return ""
}

// SetDefault sets v to value if it is zero.
func SetDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

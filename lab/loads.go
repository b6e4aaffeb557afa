package lab

import (
	"fmt"
	"time"

	"weir/lab/result"
)

// Load is the work offered to a subject. Each connection sends Rate messages of Size bytes a
// second, or Bits a second cut into writes as tcpkali's bandwidth mode does: an open loop. In
// addition Idle connections may be held open, and Churn short connections a second connect, send
// one message of Size bytes and close. The message of a short connection counts as any other.
//
// With the workload page, files or proxy a message is an HTTP request, described by the last group
// of keys; Size, Bits, Idle, Churn, WorkUS and WaitMS have no meaning. Without a Rate the loop is
// closed: a connection sends its next request when it has received the answer to the last.
//
// With the workload chat, connections are the members of a room, and each member sends Rate
// messages a second. Without a Rate the loop is closed: the next message is sent when all members
// have received the last. The message is the delivery to a member.
//
// With the workload stack, Operation is the operation on a TCP/IP stack, by so many clients, or by
// so many flows of Rate pings a second.
type Load struct {
	Name   string  `toml:"name"`
	Rate   float64 `toml:"rate"`    // messages a second per connection
	Size   int     `toml:"size"`    // bytes per message
	Bits   float64 `toml:"bits"`    // bits a second per connection; 0: Rate is used
	Idle   int     `toml:"idle"`    // connections on which nothing is sent
	Churn  float64 `toml:"churn"`   // short connections a second, in total
	WorkUS int     `toml:"work_us"` // microseconds of computing per message in the subject
	WaitMS int     `toml:"wait_ms"` // milliseconds of waiting per message in the subject

	Replay int    `toml:"replay"` // messages of history that new members read, instead of sending
	Caps   string `toml:"caps"`   // IRC capabilities that members request, separated by commas

	// on a TCP/IP stack: ping, connect, in, out, rr, idle; inside: connect, bulk, rr
	Operation string `toml:"operation"`
	Inside    bool   `toml:"inside"` // both ends are on the stack, over its own loopback
	// one process of the system's ping command per flow, each at one ping a second
	Processes bool `toml:"processes"`
	// cores of the stack, the peer gets the others; 0: both use all
	Cores int `toml:"cores"`

	// replaces the experiment's connections; not with sink and echo
	Connections []int `toml:"connections"`

	Subjects []string `toml:"subjects"` // the experiment's subjects that meet this load; empty: all
	// limit on the blocks in each of its cells; 0: as many as the other loads
	Blocks   int      `toml:"blocks"`
	Duration Duration `toml:"duration"` // length of its measured windows; 0: the experiment's

	// arrival pattern of requests with a rate: staggered, together or poisson; empty: staggered
	Pattern string `toml:"pattern"`
	// path of the request; empty: "/page.html" or "/4k.html" by the workload
	Path        string `toml:"path"`
	NoKeepAlive bool   `toml:"no_keep_alive"` // one connection per request
	// closed loop only: also report the time that so many requests take, and its lower bound; the
	// window still ends by time
	Requests int `toml:"requests"`
	// milliseconds that every SleepEvery-th request sleeps in the subject
	SleepMS    int `toml:"sleep_ms"`
	SleepEvery int `toml:"sleep_every"` // 0: none
	// components in the subject that pass every request through unchanged
	Filters int  `toml:"filters"`
	Gzip    bool `toml:"gzip"` // the subject compresses the responses
	TLS     bool `toml:"tls"`  // requests by TLS 1.3; only for subjects that take a certificate
	Cold    bool `toml:"cold"` // measure from the first request on, without warm-up
}

// hasChatSettings reports whether a setting is set that only chat loads have.
func (l Load) hasChatSettings() bool { return l.Replay != 0 || l.Caps != "" }

// settingsOfStack and settingsOfChat are errors about settings of other workloads.
const (
	settingsOfStack = "operation, inside, processes and cores are for the workload stack: leave them out, or set that"
	settingsOfChat  = "replay and caps are for the workload chat: leave them out, or set that"
)

// result returns the load as the results record it.
func (l Load) result() result.Load {
	return result.Load{Name: l.Name, Rate: l.Rate, Size: l.Size, Bits: l.Bits, Idle: l.Idle, Churn: l.Churn, WorkUS: l.WorkUS, WaitMS: l.WaitMS,
		Requests: result.Requests{Path: l.Path, Pattern: l.Pattern, NoKeepAlive: l.NoKeepAlive, Count: l.Requests, SleepMS: l.SleepMS, SleepEvery: l.SleepEvery,
			Filters: l.Filters, Gzip: l.Gzip, TLS: l.TLS, Cold: l.Cold, DurationS: time.Duration(l.Duration).Seconds()},
		Rooms:     result.Rooms{Replay: l.Replay, Caps: l.Caps},
		Operation: result.Operation{Name: l.Operation, Inside: l.Inside, Processes: l.Processes, Cores: l.Cores}}
}

// validateLoads names the loads that have no name. It checks that the generator can offer every
// load to every number of connections in every pattern, so that a run does not fail in the middle.
func (e *Experiment) validateLoads() error {
	seen := map[string]bool{}
	for i := range e.Loads {
		l := &e.Loads[i]
		setDefault(&l.Name, fmt.Sprintf("load%d", i+1))
		bad := ""
		switch {
		case seen[l.Name]:
			bad = "is given twice: give each load its own name"
		case l.Blocks < 0 || l.Blocks > 1000:
			bad = "blocks must be from 0 to 1000"
		case l.Duration != 0 && !between(l.Duration, shortestWindow, time.Hour):
			bad = "duration must be from 200ms to 1h"
		default:
			bad = e.workload().checkLoad(e, l)
		}
		if bad != "" {
			return fmt.Errorf("lab: %s: load %q: %s", e.Name, l.Name, bad)
		}
		if l.Bits > 0 {
			l.Rate = l.Bits / 8 / float64(l.Size) // for the results
		}
		seen[l.Name] = true
	}
	return nil
}

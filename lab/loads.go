package lab

import (
	"fmt"
	"strings"
	"time"

	"weir/lab/load"
	"weir/lab/result"
)

// Load is what a subject is offered. Each connection sends Rate messages of Size bytes a second, or
// Bits a second cut into writes the way tcpkali's bandwidth mode does. Beside them Idle connections
// may be held open, and Churn short ones a second connect, send one message of Size bytes and
// close. The message of a short connection counts as any other.
//
// Where the workload is page or files a message is an HTTP request, the keys of the last group say
// which, and Size, Bits, Idle, Churn, WorkUS and WaitMS have no meaning. Without a Rate the loop is
// closed: a connection asks again when it has its answer.
//
// Where it is chat, connections are the members of a room, each of whom says Rate messages a
// second; without one, the next when all have heard the last. What counts as a message then is a
// delivery.
//
// Where it is stack, Operation says what is done with a TCP/IP stack by so many clients, or flows
// of Rate pings a second.
type Load struct {
	Name   string  `toml:"name"`
	Rate   float64 `toml:"rate"`    // messages a second a connection
	Size   int     `toml:"size"`    // bytes a message
	Bits   float64 `toml:"bits"`    // bits a second a connection; 0: Rate is used
	Idle   int     `toml:"idle"`    // connections on which nothing is sent
	Churn  float64 `toml:"churn"`   // short connections a second, all together
	WorkUS int     `toml:"work_us"` // microseconds of computing a message in the subject
	WaitMS int     `toml:"wait_ms"` // milliseconds of waiting a message in the subject

	Replay int    `toml:"replay"` // messages of a history that newcomers read, instead of talking
	Caps   string `toml:"caps"`   // capabilities that members ask for, by commas

	// on a TCP/IP stack: ping, connect, in, out, rr, idle; inside: connect, bulk, rr
	Operation string `toml:"operation"`
	Inside    bool   `toml:"inside"` // both ends are on the stack, over its own loopback
	// pings by as many processes of the system's ping, at one a second each
	Processes bool `toml:"processes"`
	// that the stack has, and its peer the others; 0: both have all
	Cores int `toml:"cores"`

	// in place of the experiment's, where the workload is chat or stack
	Connections []int `toml:"connections"`

	Subjects []string `toml:"subjects"` // those of the experiment's that meet this load; empty: all
	// at most so many in each of its cells; 0: as many as of the others
	Blocks   int      `toml:"blocks"`
	Duration Duration `toml:"duration"` // of its measured windows; 0: the experiment's

	// to ask for; "/page.html" or "/4k.html" by the workload
	Path        string `toml:"path"`
	NoKeepAlive bool   `toml:"no_keep_alive"` // a connection for each request
	// in a closed loop: also say how long so many take, and their floor; windows end by time
	Requests int `toml:"requests"`
	// milliseconds that every SleepEvery-th request sleeps in the subject
	SleepMS    int `toml:"sleep_ms"`
	SleepEvery int `toml:"sleep_every"` // 0: none
	// components in the subject that pass everything through
	Filters int  `toml:"filters"`
	Gzip    bool `toml:"gzip"` // compressed by the subject
	Cold    bool `toml:"cold"` // measure from the first request on
}

// config is what the generator is told to send under l; its target is for the caller to fill in.
func (l Load) config(workload string, connections int, pattern string) load.Config {
	c := load.Config{Connections: connections, Size: l.Size, Pattern: pattern, Echo: workload == "echo", Idle: l.Idle, Churn: l.Churn, Bits: l.Bits}
	if l.Bits == 0 {
		c.Rate = l.Rate
	}
	return c
}

// asksChat says whether anything is set that only members of rooms have.
func (l Load) asksChat() bool { return l.Replay != 0 || l.Caps != "" }

// result is the load as the results tell it.
func (l Load) result() result.Load {
	return result.Load{Name: l.Name, Rate: l.Rate, Size: l.Size, Bits: l.Bits, Idle: l.Idle, Churn: l.Churn, WorkUS: l.WorkUS, WaitMS: l.WaitMS,
		Requests: result.Requests{Path: l.Path, NoKeepAlive: l.NoKeepAlive, Count: l.Requests, SleepMS: l.SleepMS, SleepEvery: l.SleepEvery,
			Filters: l.Filters, Gzip: l.Gzip, Cold: l.Cold, DurationS: time.Duration(l.Duration).Seconds()},
		Rooms:     result.Rooms{Replay: l.Replay, Caps: l.Caps},
		Operation: result.Operation{Name: l.Operation, Inside: l.Inside, Processes: l.Processes, Cores: l.Cores}}
}

// validateLoads names the loads that have no name, and makes sure that the generator can offer
// every load to every number of connections in every pattern: a run would find out in its middle.
func (e *Experiment) validateLoads() error {
	seen := map[string]bool{}
	for i := range e.Loads {
		l := &e.Loads[i]
		def(&l.Name, fmt.Sprintf("load%d", i+1))
		bad := ""
		switch {
		case seen[l.Name]:
			bad = "stands twice: give each load a name of its own"
		case l.Blocks < 0 || l.Blocks > 1000:
			bad = "blocks must be from 0 to 1000"
		case l.Duration != 0 && !between(l.Duration, shortestWindow, time.Hour):
			bad = "duration must be from 200ms to 1h"
		case e.stack():
			bad = e.badOperation(l)
		case l.asksStack():
			bad = "operation, inside, processes and cores are for the workload stack: leave them out, or set that"
		case e.chat():
			bad = e.badRooms(l)
		case l.asksChat() || len(l.Connections) > 0:
			bad = "replay, caps and connections are for the workload chat: leave them out, or set that"
		case e.http():
			bad = e.badRequests(l)
		case l.asksHTTP():
			bad = "path, no_keep_alive, requests, sleep_ms, sleep_every, filters, gzip and cold are for the workloads page and files: leave them out, or set one of these"
		case l.WorkUS < 0 || l.WorkUS > 1e6 || l.WaitMS < 0 || l.WaitMS > 60_000:
			bad = "work_us must be from 0 to 1000000 and wait_ms from 0 to 60000"
		case len(e.Saturation) > 0 && (l.Bits != 0 || l.Rate == 0):
			bad = "saturation raises the rate of messages: give it a rate, and no bits"
		default:
			bad = e.impossible(*l)
		}
		if bad != "" {
			return fmt.Errorf("lab: %s: load %q: %s", e.Name, l.Name, bad)
		}
		if l.Bits > 0 {
			l.Rate = l.Bits / 8 / float64(l.Size) // what the results say
		}
		seen[l.Name] = true
	}
	return nil
}

// impossible says why the generator cannot offer l in some cell, or nothing.
func (e *Experiment) impossible(l Load) string {
	for _, n := range e.Connections {
		for _, pattern := range e.Patterns {
			c := l.config(e.Workload, n, pattern)
			c.Target = "127.0.0.1:1" // whatever the subject's will be
			switch err := c.Check(true); {
			case err != nil:
				return fmt.Sprintf("with %d connections, %s: %s", n, pattern, strings.TrimPrefix(err.Error(), "load: "))
			case n == 0 && l.Churn == 0:
				return "with 0 connections: nothing is sent, so there is nothing to measure: give connections, or churn"
			case n == 0 && len(e.Saturation) > 0:
				return "with 0 connections: saturation raises the rate of connections that send: give some"
			}
		}
	}
	return ""
}

package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/printable"
	"weir/lab/load"
)

// Limits of messages.
const (
	maxMessage = 4 << 20 // bytes; a report with four histograms has some hundred thousand
	maxText    = 4096    // bytes of an error text
	maxVersion = 256     // bytes
	maxCores   = 1 << 16
	maxPoints  = 20_000  // readings of CPU
	maxSubject = 128     // bytes of the name of a subject
	maxSent    = 1 << 53 // messages: sums over all agents do not overflow
	maxTime    = 1 << 61 // ns; sums of a time and an offset do not overflow
)

// The kinds of requests to an agent.
const (
	doStart   = "start"   // start a part of a load
	doMeasure = "measure" // start the window at a time
	doStop    = "stop"    // end the run
	doEnd     = "end"     // kill what is left of the run; always possible
	doLeave   = "leave"   // the coordinator closes: Serve returns
	doWatch   = "watch"   // beside a server: record its CPU, for a window
	doUsage   = "usage"   // beside a server: end the recording, and reply with it
)

var kindsOfRequests = []string{doStart, doMeasure, doStop, doEnd, doLeave, doWatch, doUsage}

// The subjects of messages. Each agent may subscribe below agentSubject only, and publish below
// coordinatorSubject only, besides replies.
const (
	agentSubject       = "weir.agent."
	coordinatorSubject = "weir.coordinator."
	announceSubject    = coordinatorSubject + "announce"
)

func clockSubject(name string) string   { return agentSubject + name + ".clock" }
func requestSubject(name string) string { return agentSubject + name + ".request" }
func eventSubject(name string) string   { return coordinatorSubject + "event." + name }

// hello is the announcement of an agent. The answer is a reply.
type hello struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Cores   int    `json:"cores"`
	Machine string `json:"machine,omitempty"` // see machineID
	PID     int    `json:"pid,omitempty"`     // of the agent
	// the name of its connection, which no other agent has
	Connection string `json:"connection"` // the agent's name, a space, and a random text
	// the subject whose server the agent is beside; empty: it offers loads
	Beside string `json:"beside,omitempty"`
}

// request is a request of the coordinator to one agent. The answer is a reply.
type request struct {
	Session   int64    `json:"session"`
	Do        string   `json:"do"`
	Args      []string `json:"args,omitempty"`       // start: of weir load
	Files     []File   `json:"files,omitempty"`      // start: see Share
	MeasureNS int64    `json:"measure_ns,omitempty"` // measure, watch: length of the window
	AtNS      int64    `json:"at_ns,omitempty"`      // measure: its start, on the agent's clock
}

// reply answers a request or an announcement.
type reply struct {
	Error string `json:"error,omitempty"` // empty: done
	Usage *Usage `json:"usage,omitempty"` // usage: with times of the agent's clock
}

// Usage is what the processes of a server used.
type Usage struct {
	Method    string  `json:"method"` // the CPU accounting method
	Points    []Point `json:"points"` // CPU so far, in the order of their times
	PeakRSS   int64   `json:"peak_rss"`
	PSS       int64   `json:"pss"` // bytes
	Processes int     `json:"processes"`
	Threads   int     `json:"threads"`
}

// Point is a reading of CPU.
type Point struct {
	AtNS  int64 `json:"at_ns"` // CLOCK_MONOTONIC
	CPUNS int64 `json:"cpu_ns"`
}

// clockReply answers a clock probe, which is empty. Times are of the agent's clock.
type clockReply struct {
	ReceivedNS int64 `json:"received_ns"`
	SentNS     int64 `json:"sent_ns"`
}

// Event is an event of a load generator, as load.Conduct writes it.
type Event struct {
	Event  string          `json:"event"`
	AtNS   int64           `json:"at_ns,omitempty"` // CLOCK_MONOTONIC
	Sent   int64           `json:"sent,omitempty"`
	Report json.RawMessage `json:"report,omitempty"`
}

// eventExit is the last event of an agent's part, which the agent itself makes.
const eventExit = "exit"

// eventOrder holds the events of a generator in their order.
var eventOrder = []string{"connected", "sending", "progress", "measuring", "measured", "report", eventExit}

// eventMessage is one event of an agent's part of a session.
type eventMessage struct {
	Session int64  `json:"session"`
	Seq     int64  `json:"seq"` // 1, 2, 3 and so on: a gap is a lost event
	Event   Event  `json:"event"`
	Error   string `json:"error,omitempty"`  // of the exit: why the load failed
	Killed  bool   `json:"killed,omitempty"` // of the exit: by a signal
}

// parse decodes a message and checks it. M is the message, P a pointer to it.
func parse[M any, P interface {
	*M
	check() error
}](data []byte) (M, error) {
	var m M
	if len(data) > maxMessage {
		return m, fmt.Errorf("a message has %d bytes, the limit is %d", len(data), maxMessage)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("a message is no valid JSON: %w", err)
	}
	return m, P(&m).check()
}

// encode encodes a message, which always has an encoding.
func encode(m any) []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic("agent: a message has no encoding: " + err.Error())
	}
	return data
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("the name %.80q of an agent is invalid: use 1 to 64 letters, digits, - and _", name)
	}
	return nil
}

func (h *hello) check() error {
	switch err := checkName(h.Name); {
	case err != nil:
		return err
	case len(h.Version) > maxVersion || !printable.Is(h.Version):
		return fmt.Errorf("the version of agent %q is invalid", h.Name)
	case h.Cores < 1 || h.Cores > maxCores:
		return fmt.Errorf("agent %q says that it has %d cores: want 1 to %d", h.Name, h.Cores, maxCores)
	case len(h.Machine) > maxVersion || h.PID < 0:
		return fmt.Errorf("the machine of agent %q is invalid", h.Name)
	case len(h.Connection) > maxVersion || !strings.HasPrefix(h.Connection, h.Name+" "):
		// by this name the coordinator closes it, so it cannot be that of another connection
		return fmt.Errorf("the connection of agent %q has an invalid name", h.Name)
	case len(h.Beside) > maxSubject || !printable.Is(h.Beside):
		return fmt.Errorf("the subject that agent %q is beside has an invalid name", h.Name)
	}
	return nil
}

func (r *request) check() error {
	switch {
	case r.Session < 0:
		return errors.New("the session of a request is negative")
	case !slices.Contains(kindsOfRequests, r.Do):
		return fmt.Errorf("the request %.80q is unknown", r.Do)
	case r.Do == doStart:
		return (&Share{r.Args, r.Files}).check()
	case len(r.Args)+len(r.Files) > 0:
		return fmt.Errorf("the request %s has no arguments", r.Do)
	case !validTime(r.AtNS):
		return errors.New("the time of a request is out of range")
	case r.Do == doMeasure, r.Do == doWatch:
		return load.CheckDuration(time.Duration(r.MeasureNS))
	}
	return nil
}

func (r *reply) check() error {
	if r.Usage != nil {
		return errors.Join(checkText(r.Error), r.Usage.check())
	}
	return checkText(r.Error)
}

func (u *Usage) check() error {
	const most = 1 << 53
	if len(u.Method) > maxVersion || !utf8.ValidString(u.Method) || len(u.Points) > maxPoints {
		return fmt.Errorf("the usage of a server has %d readings: the limit is %d", len(u.Points), maxPoints)
	}
	for _, n := range []int64{u.PeakRSS, u.PSS, int64(u.Processes), int64(u.Threads)} {
		if n < 0 || n > most {
			return errors.New("the usage of a server is out of range")
		}
	}
	var last Point
	for i, p := range u.Points {
		if !validTime(p.AtNS) || p.CPUNS < 0 || p.CPUNS > most || i > 0 && (p.AtNS <= last.AtNS || p.CPUNS < last.CPUNS) {
			return errors.New("the readings of a server's CPU are out of order")
		}
		last = p
	}
	return nil
}

func (c *clockReply) check() error {
	if !validTime(c.ReceivedNS) || !validTime(c.SentNS) || c.SentNS < c.ReceivedNS {
		return errors.New("the times of a clock are out of range")
	}
	return nil
}

func (e *Event) check() error {
	switch {
	case !slices.Contains(eventOrder, e.Event):
		return fmt.Errorf("the event %.80q is unknown", e.Event)
	case !validTime(e.AtNS):
		return errors.New("the time of an event is out of range")
	case e.Sent < 0 || e.Sent > maxSent:
		return errors.New("the count of an event is out of range")
	case (e.Event == "report") != (len(e.Report) > 0):
		return fmt.Errorf("the event %s and its report do not fit", e.Event)
	}
	return nil
}

func (m *eventMessage) check() error {
	switch {
	case m.Session < 0 || m.Seq < 1:
		return errors.New("the number of an event is out of range")
	case (m.Error != "" || m.Killed) && m.Event.Event != eventExit:
		return errors.New("an event that is no exit has an error")
	}
	return errors.Join(m.Event.check(), checkText(m.Error))
}

func checkText(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("an error text has %d bytes, the limit is %d", len(text), maxText)
	}
	return nil
}

func validTime(ns int64) bool { return ns > -maxTime && ns < maxTime }

// textOf returns the text of err for a reply, cut to its limit.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	return text[:min(len(text), maxText)]
}

package agent

import (
	"encoding/json"
	"slices"
	"time"

	"weir/lab/load"
)

// part is one agent's part of a session.
type part struct {
	agent Agent
	clock Clock // before the window

	seq    int64            // of the last event
	at     map[string]int64 // times of events, on the coordinator's clock; of progress the last
	fresh  bool             // progress since the last that was passed on
	sent   int64
	report json.RawMessage
}

func newPart(a Agent) *part { return &part{agent: a, at: map[string]int64{}} }

// take records an event of the part. It returns an error if the event cannot follow those before.
func (p *part) take(m eventMessage) error {
	name := m.Event.Event
	switch place := slices.Index(eventOrder, name); {
	case m.Seq != p.seq+1:
		return disturbed(LostMessage, p.agent.Name, "sent an event that was lost: got number %d, want %d", m.Seq, p.seq+1)
	case name == eventExit && m.Killed:
		return disturbed(KilledLoad, p.agent.Name, "ran it when it ended: %s", m.Error)
	case name == eventExit && p.report == nil:
		return &LoadError{Agent: p.agent.Name, Text: m.Error}
	case name != "progress" && p.at[name] != 0, slices.ContainsFunc(eventOrder[place+1:], func(later string) bool { return p.at[later] != 0 }):
		return disturbed(WrongReport, p.agent.Name, "sent the event %s out of order", name)
	}
	p.seq = m.Seq
	p.at[name] = max(1, m.Event.AtNS-int64(p.clock.Offset))
	switch name {
	case "progress":
		p.sent, p.fresh = m.Event.Sent, true
	case "report":
		p.report = m.Event.Report
	}
	return nil
}

// progress returns how many of the events of eventOrder are behind the part, or skipped.
func (p *part) progress() int {
	for i, name := range slices.Backward(eventOrder) {
		if p.at[name] != 0 {
			return i + 1
		}
	}
	return 0
}

// joined returns the event of all parts, once each part has had it. The first to start a window and
// the last to end anything count.
func joined(parts []*part, name string) (e Event, all bool) {
	e = Event{Event: name}
	for i, p := range parts {
		at, had := p.at[name]
		if !had || name == "progress" && !p.fresh {
			return e, false
		}
		e.Sent += p.sent
		if i == 0 || (name == "measuring") == (at < e.AtNS) {
			e.AtNS = at
		}
	}
	if name != "progress" {
		e.Sent = 0
		return e, true
	}
	e.AtNS = 0
	for _, p := range parts {
		p.fresh = false
	}
	return e, true
}

// mergedLocked returns the report of all parts, with times of the coordinator's clock. The caller
// holds the lock.
func (s *Session) mergedLocked(parts []*part) (json.RawMessage, error) {
	reports := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		text, length, err := withStart(p.report, p.at["measuring"])
		if err == nil {
			_, err = s.mergeWith([]json.RawMessage{text}) // finds which report is invalid
		}
		if err != nil {
			return nil, disturbed(WrongReport, p.agent.Name, "sent an invalid report: %v", err)
		}
		if err := s.checkLengthLocked(p, length); err != nil {
			return nil, err
		}
		reports[i] = text
	}
	all, err := s.mergeWith(reports)
	if err != nil {
		return nil, disturbed(WrongReport, "", "the reports cannot be merged: %v", err)
	}
	return all, nil
}

func (s *Session) mergeWith(reports []json.RawMessage) (json.RawMessage, error) {
	if s.merge != nil {
		return s.merge(reports)
	}
	return load.MergeJSON(load.Merge, reports)
}

// withStart returns a report whose window started at a time of the coordinator's clock, and the
// length of that window.
func withStart(report json.RawMessage, at int64) (text json.RawMessage, length time.Duration, err error) {
	fields := map[string]json.RawMessage{}
	var r load.Report
	if err = json.Unmarshal(report, &fields); err == nil {
		err = json.Unmarshal(report, &r)
	}
	if err != nil {
		return nil, 0, err
	}
	fields["started_ns"] = encode(at)
	text, err = json.Marshal(fields)
	return text, time.Duration(r.WindowNS), err
}

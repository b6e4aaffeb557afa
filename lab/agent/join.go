package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"weir/lab/load"
)

// run joins the events of all agents until the report, a failure or Close.
func (s *Session) run() {
	defer close(s.done)
	defer close(s.events)
	for {
		select {
		case <-s.ctx.Done():
			return
		case a := <-s.inbox:
			e, complete, err := s.take(a)
			if err == nil && complete && e.Event == "report" {
				e.Report, err = s.finish()
			}
			if err != nil {
				s.fail(err)
				return
			}
			if complete && !s.pass(e) || complete && e.Event == "report" {
				return
			}
		}
	}
}

// pass passes an event to the owner, and reports whether the session goes on.
func (s *Session) pass(e Event) bool {
	select {
	case s.events <- e:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// take records an event, and returns that of all agents if it is complete now.
func (s *Session) take(a arrival) (e Event, complete bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, name := s.parts[a.part], a.message.Event.Event
	if err := p.take(a.message); err != nil {
		return e, false, err
	}
	if name == "measuring" {
		if err := s.checkStartLocked(p); err != nil {
			return e, false, err
		}
	}
	if name == eventExit {
		return e, false, nil
	}
	e, complete = joined(s.parts, name)
	return e, complete, nil
}

// checkStartLocked returns an error if the window of p did not start at the agreed time.
func (s *Session) checkStartLocked(p *part) error {
	if s.agreed == 0 {
		return fmt.Errorf("agent: %q started its window without a command", p.agent.Name)
	}
	late := s.lateness(p)
	if limit := s.coordinator.config.StartTolerance + p.clock.Bound; late.Abs() > limit {
		return fmt.Errorf("agent: %q was late: its window started %v after the agreed time, the limit is %v", p.agent.Name, late, limit)
	}
	return nil
}

// lateness returns by how much p's window started after the agreed time.
func (s *Session) lateness(p *part) time.Duration { return time.Duration(p.at["measuring"] - s.agreed) }

// finish measures the clocks again, and returns the merged report.
func (s *Session) finish() (json.RawMessage, error) {
	s.mu.Lock()
	agreed := s.agreed
	s.mu.Unlock()
	if agreed == 0 {
		return nil, errors.New("agent: the load ended without a window")
	}
	after, err := s.clocks()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.parts {
		if err := checkMoved(p.clock, after[i]); err != nil {
			return nil, fmt.Errorf("agent: %q: %w", p.agent.Name, err)
		}
		s.result = append(s.result, Part{Agent: p.agent, Before: p.clock, After: after[i], StartedLate: s.lateness(p), Report: p.report})
	}
	return merged(s.parts)
}

// Parts returns what each agent did, in the order of their names; none before the report.
func (s *Session) Parts() []Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result
}

// Report drops events until the report, and returns it. All counts are sums over the agents.
func (s *Session) Report(ctx context.Context) (r load.Report, text json.RawMessage, err error) {
	for {
		select {
		case e, open := <-s.events:
			if !open {
				return r, nil, errors.Join(errors.New("agent: the load has no report"), s.Err())
			}
			if e.Event == "report" {
				return r, e.Report, json.Unmarshal(e.Report, &r)
			}
		case <-ctx.Done():
			return r, nil, ctx.Err()
		}
	}
}

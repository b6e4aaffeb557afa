package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
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
			if err == nil && a.message.Event.Event == "measured" {
				err = s.checkEnd(a.part)
			}
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
		return disturbed(WrongReport, p.agent.Name, "started its window without a command")
	}
	late := s.lateness(p)
	if limit := s.tolerance(p); late.Abs() > limit {
		return disturbed(LateAgent, p.agent.Name, "started its window %v after the agreed time, the limit is %v", late, limit)
	}
	return nil
}

// checkEnd returns an error if the window of part i did not have the agreed length, or is not over.
// That its clock moved is named as the reason.
func (s *Session) checkEnd(i int) error {
	s.mu.Lock()
	p := s.parts[i]
	wrong, before := s.endErrorLocked(p), p.clock
	s.mu.Unlock()
	if wrong == nil {
		return nil
	}
	after, err := s.clockOf(p.agent.Name, s.coordinator.config.MaxClockError)
	if err == nil {
		err = movedClock(p.agent.Name, before, after)
	}
	return cmp.Or(err, wrong)
}

// endErrorLocked returns what is wrong with the end of the window of p.
func (s *Session) endErrorLocked(p *part) error {
	end := p.at["measured"]
	if err := s.checkLengthLocked(p, time.Duration(end-p.at["measuring"])); err != nil {
		return err
	}
	if left := time.Duration(end - now()); left > s.tolerance(p) {
		return disturbed(WrongReport, p.agent.Name, "ended its window %v before its end", left)
	}
	return nil
}

// movedClock returns an error if the clock of an agent moved within a window.
func movedClock(name string, before, after Clock) error {
	if err := checkMoved(before, after); err != nil {
		return disturbed(WrongClock, name, "has a clock that moved: %v", err)
	}
	return nil
}

// checkLengthLocked returns an error if a window of p did not have the agreed length, except for
// what a slow or fast clock explains, which is checked in another way.
func (s *Session) checkLengthLocked(p *part, length time.Duration) error {
	if (length - s.window).Abs() > s.tolerance(p)+s.window/10 {
		return disturbed(WrongReport, p.agent.Name, "had a window of %v, and %v were agreed", length, s.window)
	}
	return nil
}

// tolerance returns by how much a time of p may differ from what was agreed.
func (s *Session) tolerance(p *part) time.Duration {
	return s.coordinator.config.StartTolerance + p.clock.Bound
}

// lateness returns by how much p's window started after the agreed time.
func (s *Session) lateness(p *part) time.Duration { return time.Duration(p.at["measuring"] - s.agreed) }

// finish measures the clocks again, collects what servers used, and returns the merged report.
func (s *Session) finish() (json.RawMessage, error) {
	s.mu.Lock()
	agreed := s.agreed
	s.mu.Unlock()
	if agreed == 0 {
		return nil, disturbed(WrongReport, "", "the load ended without a window")
	}
	after, err := s.clocks()
	if err != nil {
		return nil, err
	}
	usages, err := s.collectUsages()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.parts {
		if err := movedClock(p.agent.Name, p.clock, after[i]); err != nil {
			return nil, err
		}
		s.result = append(s.result, Part{Agent: p.agent, Before: p.clock, After: after[i], StartedLate: s.lateness(p), Report: p.report})
	}
	s.usages = usages
	return s.mergedLocked(s.parts)
}

// watchServers has the agents beside servers record their CPU.
func (s *Session) watchServers(d time.Duration) error {
	return forEach(s.beside, func(a Agent) error {
		return s.coordinator.request(s.ctx, a.Name, request{Session: s.number, Do: doWatch, MeasureNS: int64(d)})
	})
}

// collectUsages ends the recordings of agents beside servers, and returns them with times of this
// machine's clock, by the names of the subjects.
func (s *Session) collectUsages() (map[string]Usage, error) {
	var mu sync.Mutex // guards all
	all := map[string]Usage{}
	return all, forEach(s.beside, func(a Agent) error {
		answer, err := s.coordinator.ask(s.ctx, a.Name, request{Session: s.number, Do: doUsage})
		if err != nil {
			return err
		}
		clock, err := s.clockOf(a.Name, s.coordinator.config.MaxClockError)
		if err != nil {
			return err
		}
		if answer.Usage == nil {
			return disturbed(WrongReport, a.Name, "sent no usage of the server")
		}
		for i := range answer.Usage.Points {
			answer.Usage.Points[i].AtNS -= int64(clock.Offset)
		}
		mu.Lock()
		defer mu.Unlock()
		all[a.Beside] = *answer.Usage
		return nil
	})
}

// Usages returns what the servers used around the window, by the names of the subjects; none before
// the report.
func (s *Session) Usages() map[string]Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usages
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

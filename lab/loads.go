package lab

import (
	"fmt"
	"time"

	"weir/lab/contract"
	"weir/lab/workload"
)

// validateLoads names the loads that have no name. It checks that the generator can offer every
// load to every number of connections in every pattern, so that a run does not fail in the middle.
func (e *Experiment) validateLoads() error {
	seen := map[string]bool{}
	for i, l := range e.Loads {
		shared := l.Shared()
		workload.SetDefault(&shared.Name, fmt.Sprintf("load%d", i+1))
		bad := ""
		switch {
		case !e.kind().owns(l):
			bad = fmt.Sprintf("has the settings of another workload than %s: leave --workload out, or write loads for it", e.Workload)
		case seen[shared.Name]:
			bad = "is given twice: give each load its own name"
		case shared.Blocks < 0 || shared.Blocks > 1000:
			bad = "blocks must be from 0 to 1000"
		case shared.Duration != 0 && !between(shared.Duration, shortestWindow, time.Hour):
			bad = "duration must be from 200ms to 1h"
		default:
			bad = l.Check(workload.Context{Workload: e.Workload, Connections: e.connectionsOf(l), Patterns: e.Patterns, Capacity: len(e.Saturation) > 0})
		}
		if bad != "" {
			return fmt.Errorf("lab: %s: load %q: %s", e.Name, shared.Name, bad)
		}
		seen[shared.Name] = true
	}
	return nil
}

// Contract returns the checks of what the experiment's first load, which describes its messages,
// needs of a server over the given number of connections. It validates the experiment.
func (e *Experiment) Contract(connections int) (contract.Kind, error) {
	if err := e.Validate(); err != nil {
		return contract.Kind{}, err
	}
	l, ok := e.Loads[0].(workload.Described)
	if !ok {
		return contract.Kind{}, fmt.Errorf("lab: %s: its servers have a contract of their own: leave out what describes the load", e.Name)
	}
	return l.Contract(connections), nil
}

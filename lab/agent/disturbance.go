package agent

import "fmt"

// The kinds of disturbances. Each starts with "agent": that tells them from other reasons to reject
// a trial.
const (
	LostAgent     = "agent lost"         // it was killed, stopped, or cut off
	LateAgent     = "agent late"         // its window did not start at the agreed time
	WrongClock    = "agent clock"        // its clock is not known well enough, or moved
	LostMessage   = "agent message lost" // an event did not arrive
	WrongReport   = "agent report wrong" // what it sent is invalid
	MissingAgents = "agents missing"     // there are fewer than the load has shares
	KilledLoad    = "agent load killed"  // a signal ended its generator
)

// Disturbance is the error of a measurement that an agent spoiled, through no fault of the server
// or of the load. The measurement can be repeated.
type Disturbance struct {
	Kind   string // one of the constants
	Agent  string // its name; empty: not known
	Reason string
}

func (d *Disturbance) Error() string { return "agent: " + d.Text() }

// Text returns the error without the name of this package.
func (d *Disturbance) Text() string {
	if d.Agent == "" {
		return d.Kind + ": " + d.Reason
	}
	return fmt.Sprintf("%s: %q %s", d.Kind, d.Agent, d.Reason)
}

func disturbed(kind, agent, reason string, args ...any) error {
	return &Disturbance{Kind: kind, Agent: agent, Reason: fmt.Sprintf(reason, args...)}
}

// LoadError is the error of a load that its generator gave up.
type LoadError struct {
	Agent string
	Text  string // the last line that the generator wrote
}

func (l *LoadError) Error() string {
	return fmt.Sprintf("agent: the load of %q ended early: %s", l.Agent, l.Text)
}

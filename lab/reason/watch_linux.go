package reason

import (
	"errors"
	"fmt"

	"weir/lab/sample"
)

// tool is one method of tracing a group.
type tool interface {
	stop() (Counts, error) // called once; releases all resources
}

// Watch traces a group until it is stopped.
type Watch struct{ tool tool }

// Start starts tracing a group, with the best tool that works on this machine. The error has the
// reason for each tool. The caller must Stop the watch before it closes the group.
func Start(g *sample.Group) (*Watch, error) {
	p, err := tracepoints(g)
	if err == nil {
		return &Watch{p}, nil
	}
	s, straceErr := strace(g)
	if straceErr == nil {
		s.note = fmt.Sprintf("counted by strace, which slows a server down and sees no wake-ups; tracepoints: %v", err)
		return &Watch{s}, nil
	}
	return nil, errors.Join(fmt.Errorf("system calls cannot be counted on this machine: tracepoints: %w", err), fmt.Errorf("strace: %w", straceErr))
}

// Stop ends the tracing and returns the counts since Start.
func (w *Watch) Stop() (Counts, error) { return w.tool.stop() }

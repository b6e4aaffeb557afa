package reason

import (
	"errors"
	"fmt"

	"weir/lab/sample"
)

// tool is one way to watch a group.
type tool interface {
	stop() (Counts, error) // called once; frees everything
}

// Watch looks at a group until it is stopped.
type Watch struct{ tool tool }

// Start begins to watch a group, with the best tool that works here. The error says what is missing
// for each. The caller must Stop the watch before it closes the group.
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
	return nil, errors.Join(fmt.Errorf("system calls can't be counted here: tracepoints: %w", err), fmt.Errorf("strace: %w", straceErr))
}

// Stop ends the watch and returns what was seen since Start.
func (w *Watch) Stop() (Counts, error) { return w.tool.stop() }

package sample

import (
	"errors"
	"fmt"
	"os/exec"
)

// Observe returns a group of processes that already run and of their descendants. Its CPU counts
// from their starts. Close leaves them running. It counts by process clocks: Uncounted says what
// that misses.
func Observe(pids ...int) (*Group, error) {
	t := newTree(groupName("observed"))
	for _, pid := range pids {
		start := startTime(pid)
		if pid <= 0 || start == 0 {
			return nil, fmt.Errorf("there is no process %d on this machine", pid)
		}
		t.members[pid] = &member{startTime: start}
	}
	return &Group{name: "observed", account: observed{t}, close: func() error { return nil }}, nil
}

// observed is an account of processes that this program has not started.
type observed struct{ *tree }

func (observed) attach(*exec.Cmd) (detach func() error, err error) {
	return func() error { return nil }, errors.New("sample: a group of running processes starts none")
}

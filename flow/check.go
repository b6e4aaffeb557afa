package flow

import (
	"errors"
	"fmt"
	"strings"
)

// check refuses nets that could not work.
func (n *Net[T]) check() error {
	entries := 0
	reached := map[int]bool{}
	for _, e := range n.edges {
		if e.From == Entry {
			entries++
			n.reach(e.to, reached)
		}
	}
	if entries != 1 {
		return fmt.Errorf("flow: %d edges begin at the entry: give the net exactly one", entries)
	}
	for _, s := range n.stages {
		if !reached[s.number] {
			return fmt.Errorf("flow: nothing can reach the stage %s: lead an edge to it, or leave it out", s.Name)
		}
	}
	if names := n.cycle(func(e *edge) bool { return e.Full == Wait }); names != "" {
		return errors.New("flow: every edge of the cycle " + names + " waits when it is full, so that it could wait for itself: let one of them drop or refuse")
	}
	return nil
}

// reach marks what can be reached from a stage.
func (n *Net[T]) reach(stage int, reached map[int]bool) {
	if reached[stage] {
		return
	}
	reached[stage] = true
	for _, e := range n.stages[stage].ports {
		if e != nil {
			n.reach(e.to, reached)
		}
	}
}

// cycle names the stages of a cycle of edges that count, "" when there is none.
func (n *Net[T]) cycle(counts func(*edge) bool) string {
	const under, over = 1, 2
	marks := make([]int, len(n.stages))
	var path []string
	var visit func(int) string
	visit = func(stage int) string {
		name := n.stages[stage].Name
		switch marks[stage] {
		case over:
			return ""
		case under:
			for path[0] != name {
				path = path[1:]
			}
			return strings.Join(append(path, name), " -> ")
		}
		marks[stage] = under
		path = append(path, name)
		for _, e := range n.stages[stage].ports {
			if e != nil && counts(e) {
				if found := visit(e.to); found != "" {
					return found
				}
			}
		}
		marks[stage] = over
		path = path[:len(path)-1]
		return ""
	}
	for i := range n.stages {
		if found := visit(i); found != "" {
			return found
		}
	}
	return ""
}

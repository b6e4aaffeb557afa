package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

func checkStage[T any](s Stage[T], taken map[string]*node[T]) error {
	switch {
	case s.Name == Entry:
		return errors.New("flow: a stage has no name: give it one")
	case taken[s.Name] != nil:
		return fmt.Errorf("flow: two stages are called %q: rename one", s.Name)
	case s.Do == nil:
		return fmt.Errorf("flow: the stage %q does nothing: set Do", s.Name)
	case s.Width < 0 || s.Width > 1<<16:
		return fmt.Errorf("flow: the stage %q has a width of %d: choose 0 to 65536", s.Name, s.Width)
	}
	return nil
}

func checkEdge[T any](e Edge, stages map[string]*node[T]) error {
	from, to := stages[e.From], stages[e.To]
	switch {
	case to == nil || e.To == Entry:
		return fmt.Errorf("flow: the edge from %q leads to %q, and no stage is called so", e.From, e.To)
	case from == nil:
		return fmt.Errorf("flow: the edge to %q comes from %q, and no stage is called so", e.To, e.From)
	case e.Port < 0 || e.Port > 63 || e.From == Entry && e.Port > 0:
		return fmt.Errorf("flow: the edge from %q to %q has port %d: ports are 0 to 63, and the entry's is 0", e.From, e.To, e.Port)
	case e.Cap < 0 || e.Cap > 1<<16:
		return fmt.Errorf("flow: the edge from %q to %q holds %d batches: choose 1 to 65536", e.From, e.To, e.Cap)
	case e.WhenFull < Wait || e.WhenFull > Refuse:
		return fmt.Errorf("flow: the edge from %q to %q has the unknown policy %d", e.From, e.To, int(e.WhenFull))
	case e.Port < len(from.ports) && from.ports[e.Port] != nil:
		return fmt.Errorf("flow: two edges leave port %d of %q: let a Broadcast stage send to both", e.Port, e.From)
	}
	return nil
}

// check rejects nets that cannot work.
func (n *Net[T]) check() error {
	if len(n.nodes[0].ports) == 0 {
		return errors.New("flow: no edge begins at the entry: lead one from there to the first stage")
	}
	for _, s := range n.nodes[1:] {
		if s.senders == 0 {
			return fmt.Errorf("flow: nothing leads to the stage %q: lead an edge to it, or leave it out", s.Name)
		}
	}
	if names := n.cycle(func(e *edge[T]) bool { return e.WhenFull == Wait }); names != "" {
		return errors.New("flow: every edge of the cycle " + names + " waits when it is full, which could deadlock: let one of them drop or refuse")
	}
	return nil
}

// cycle returns the stages of a cycle of the edges that counts selects, "" if there is none.
func (n *Net[T]) cycle(counts func(*edge[T]) bool) (names string) {
	seen := map[*node[T]]bool{}
	var path []string // that led here
	var visit func(*node[T])
	visit = func(s *node[T]) {
		if first := slices.Index(path, s.Name); first >= 0 {
			names = strings.Join(append(path[first:], s.Name), " -> ")
			return
		}
		path = append(path, s.Name)
		for _, e := range s.ports {
			if e != nil && counts(e) && !seen[e.to] {
				visit(e.to)
			}
		}
		path = path[:len(path)-1]
		seen[s] = true
	}
	for _, s := range n.nodes {
		visit(s)
	}
	return names
}

package compare

import (
	"cmp"
	"fmt"
	"slices"

	"weir/lab/result"
	"weir/lab/stat"
)

// A cell is a load that several subjects met.
type cell struct {
	load        string
	connections int
	pattern     string
}

func (c cell) String() string {
	plural := "s"
	if c.connections == 1 {
		plural = ""
	}
	return fmt.Sprintf("%s on %d connection%s, %s", c.load, c.connections, plural, c.pattern)
}

func cellOf(t *result.Trial) cell { return cell{t.Load, t.Connections, t.Pattern} }

// cells is every cell that has trials: loads and patterns in the order of the plan, those that the plan
// does not name last, and connections ascending.
func cells(r *result.Results) []cell {
	loads := make([]string, len(r.Plan.Loads))
	for i, l := range r.Plan.Loads {
		loads[i] = l.Name
	}
	seen := map[cell]bool{}
	var found []cell
	for i := range r.Trials {
		if c := cellOf(&r.Trials[i]); !seen[c] {
			seen[c] = true
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b cell) int {
		return cmp.Or(
			cmp.Compare(place(loads, a.load), place(loads, b.load)),
			cmp.Compare(a.connections, b.connections),
			cmp.Compare(place(r.Plan.Patterns, a.pattern), place(r.Plan.Patterns, b.pattern)),
			cmp.Compare(a.load, b.load), cmp.Compare(a.pattern, b.pattern))
	})
	return found
}

// place is where name stands in the list; after its end when it does not.
func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// trials is one metric of the cell's accepted trials, by subject, twins under their own name.
func (c cell) trials(r *result.Results, of func(*result.Trial) float64) map[string][]stat.Trial {
	elsewhere := map[string]bool{}
	for _, s := range r.Subjects {
		elsewhere[s.Name] = s.Elsewhere
	}
	m := map[string][]stat.Trial{}
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Accepted && cellOf(t) == c && !elsewhere[t.Subject] {
			m[t.Subject] = append(m[t.Subject], stat.Trial{Block: t.Block, Position: t.Position, Value: of(t)})
		}
	}
	return m
}

func (c cell) comparison(a, b, metric string) result.Comparison {
	return result.Comparison{
		A: a, B: b, Metric: metric, Load: c.load, Connections: c.connections, Pattern: c.pattern,
		Twin: b == a+result.TwinSuffix,
	}
}

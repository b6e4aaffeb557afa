package compare

import (
	"cmp"
	"fmt"
	"slices"

	"weir/lab/result"
	"weir/lab/stat"
)

// A cell is a load, a number of connections and an arrival pattern.
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

func cellOfHeadline(h *result.Headline) cell { return cell{h.Load, h.Connections, h.Pattern} }

// cells returns the cells that have trials, by load, ascending connections and pattern. Loads and
// patterns are in the plan's order; those that are not in the plan come last.
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
			cmp.Compare(indexOrEnd(loads, a.load), indexOrEnd(loads, b.load)),
			cmp.Compare(a.connections, b.connections),
			cmp.Compare(indexOrEnd(r.Plan.Patterns, a.pattern), indexOrEnd(r.Plan.Patterns, b.pattern)),
			cmp.Compare(a.load, b.load), cmp.Compare(a.pattern, b.pattern))
	})
	return found
}

// indexOrEnd returns the index of name in the list, or the list's length if it is not in it.
func indexOrEnd(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// trials returns the cell's accepted trials with measured CPU by subject, without the headline's
// own blocks. An A/A control has its own name.
func (c cell) trials(r *result.Results) map[string][]*result.Trial {
	return c.trialsIn(r, func(t *result.Trial) bool { return !t.OfHeadline() })
}

// trialsIn is trials of the blocks of which in reports true.
func (c cell) trialsIn(r *result.Results, in func(*result.Trial) bool) map[string][]*result.Trial {
	elsewhere := map[string]bool{}
	for _, s := range r.Subjects {
		elsewhere[s.Name] = s.Elsewhere
	}
	m := map[string][]*result.Trial{}
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Accepted && in(t) && cellOf(t) == c && !elsewhere[t.Subject] {
			m[t.Subject] = append(m[t.Subject], t)
		}
	}
	return m
}

// costs returns the trials' CPU per message.
func costs(trials []*result.Trial) []stat.Trial {
	return valuesOf(trials, func(t *result.Trial) float64 { return t.CPUUSPerMessage })
}

func valuesOf(trials []*result.Trial, of func(*result.Trial) float64) []stat.Trial {
	v := make([]stat.Trial, len(trials))
	for i, t := range trials {
		v[i] = stat.Trial{Block: t.Block, Position: t.Position, Value: of(t)}
	}
	return v
}

// longestTrial limits the time of a sample, in ms. No trial takes a day, and damaged results must
// not exhaust the memory.
const longestTrial = 24 * 3600 * 1000

// SampledTrials converts the samples of trials for lab/stat, in ms and ns. It drops samples that
// are not in order or lie outside any trial.
func SampledTrials(trials []*result.Trial) []stat.SampledTrial {
	records := make([]stat.SampledTrial, len(trials))
	for i, t := range trials {
		r := &records[i]
		r.Block = t.Block
		for _, s := range t.Samples {
			if !(s.AtMS >= 0 && s.AtMS <= longestTrial) {
				continue
			}
			if n := len(r.Readings); n == 0 || s.AtMS > r.Readings[n-1].At {
				r.Readings = append(r.Readings, stat.Reading{At: s.AtMS, Counter: float64(s.CPUNS)})
			}
		}
	}
	return records
}

func (c cell) comparison(a, b, metric string) result.Comparison {
	return result.Comparison{
		A: a, B: b, Metric: metric, Load: c.load, Connections: c.connections, Pattern: c.pattern,
		AAControl: b == a+result.ControlSuffix,
	}
}

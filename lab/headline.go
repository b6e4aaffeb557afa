package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/internal/suggest"
	"weir/lab/compare"
	"weir/lab/result"
	"weir/lab/workload"
)

// Headline names the comparison that a run tests first and alone. The zero value of a field is its
// default.
type Headline struct {
	Subjects []string `toml:"subjects"` // two; default: the first two that take part
	// cpu_us_per_message (the default), requests_per_s or mean_us
	Metric string `toml:"metric"`
	Load   string `toml:"load"` // by name; default: the first one
	// default: the most connections of the load
	Connections int    `toml:"connections"`
	Pattern     string `toml:"pattern"` // default: the first one of the load
}

// checkHeadline returns an error if the experiment's headline is not one of its comparisons. It
// must be called before flags leave subjects or cells out.
func (e *Experiment) checkHeadline() error {
	h := e.Headline
	for _, check := range []string{e.wrongHeadlineSubjects(h.Subjects), e.wrongHeadlineCell(h), e.wrongHeadlineMetric(h)} {
		if check != "" {
			return fmt.Errorf("lab: %s: headline: %s", e.Name, check)
		}
	}
	return nil
}

// wrongHeadlineSubjects describes what is wrong with the subjects of a headline; empty: nothing.
func (e *Experiment) wrongHeadlineSubjects(names []string) string {
	if len(names) == 0 {
		return ""
	}
	if len(names) != 2 || names[0] == names[1] {
		return "subjects: name two different ones"
	}
	for _, name := range names {
		if len(e.Subjects) > 0 && !slices.Contains(e.Subjects, name) {
			return fmt.Sprintf("the experiment has no subject %q: name two of %s%s", name, strings.Join(e.Subjects, ", "), suggest.DidYouMean(name, e.Subjects))
		}
	}
	return ""
}

// wrongHeadlineCell describes what is wrong with the load, the connections or the pattern of a
// headline; empty: nothing.
func (e *Experiment) wrongHeadlineCell(h Headline) string {
	l := e.headlineLoad(h)
	if l == nil {
		if h.Load == "" {
			return "" // an experiment without loads, which is an error of its own
		}
		return fmt.Sprintf("the experiment has no load %q: name one of %s%s", h.Load, strings.Join(e.loadNames(), ", "), suggest.DidYouMean(h.Load, e.loadNames()))
	}
	only, connections := l.Shared().Subjects, e.connectionsOf(l)
	for _, name := range h.Subjects {
		if len(only) > 0 && !slices.Contains(only, name) {
			return fmt.Sprintf("the load %q is not for %s, only for %s: name another load", l.Shared().Name, name, strings.Join(only, ", "))
		}
	}
	if h.Connections != 0 && len(connections) > 0 && !slices.Contains(connections, h.Connections) {
		return fmt.Sprintf("the load %q has no %d connections: name one of %s", l.Shared().Name, h.Connections, strings.Trim(fmt.Sprint(connections), "[]"))
	}
	if patterns := e.patternsOf(l); h.Pattern != "" && len(patterns) > 0 && !slices.Contains(patterns, h.Pattern) {
		return fmt.Sprintf("the load %q has no pattern %q: name one of %s", l.Shared().Name, h.Pattern, strings.Join(patterns, ", "))
	}
	return ""
}

// wrongHeadlineMetric describes what is wrong with the metric of a headline; empty: nothing.
func (e *Experiment) wrongHeadlineMetric(h Headline) string {
	all, l := compare.HeadlineMetrics(), e.headlineLoad(h)
	if h.Metric == "" || l == nil {
		return ""
	}
	if !slices.Contains(all, h.Metric) {
		return fmt.Sprintf("there is no metric %q: name one of %s%s", h.Metric, strings.Join(all, ", "), suggest.DidYouMean(h.Metric, all))
	}
	patterns := e.patternsOf(l)
	if h.Pattern != "" {
		patterns = []string{h.Pattern}
	}
	k, err := kindNamed(cmp.Or(e.Workload, kinds[0].name))
	if err == nil && len(patterns) > 0 && !k.Report().Compare().HeadlineMetric(h.Metric, patterns[0]) {
		return fmt.Sprintf("%s is not compared under the load %q: rates are in closed loops, and times on stacks; leave the metric out", h.Metric, cmp.Or(h.Load, l.Shared().Name))
	}
	return ""
}

// headlineLoad returns the load of a headline; nil: there is none of its name.
func (e *Experiment) headlineLoad(h Headline) workload.Load {
	for i, l := range e.Loads {
		if h.Load == "" || h.Load == e.loadNames()[i] {
			return l
		}
	}
	return nil
}

// loadNames returns the names of the loads, also of those that validation has not named yet.
func (e *Experiment) loadNames() []string {
	var names []string
	for i, l := range e.Loads {
		names = append(names, cmp.Or(l.Shared().Name, defaultLoadName(i)))
	}
	return names
}

// chooseHeadline returns what a run of the plan tests first; nil: no cell has two subjects whose
// CPU is measured. If the headline of the experiment cannot be tested, another one takes its place:
// the subject of it that is left and the first other one, or the first two, in its cell or in the
// first cell that has two.
func (p Plan) chooseHeadline(e *Experiment, measured []string) *result.Headline {
	if len(e.Saturation) > 0 || len(p.Cells) == 0 {
		return nil
	}
	c, instead, ok := p.headlineCell(e, measured)
	if !ok {
		return nil
	}
	a, b, missing := headlinePair(e.Headline.Subjects, p.measuredIn(c, measured))
	if len(missing) > 0 {
		instead = fmt.Sprintf("%s against %s: %s", e.Headline.Subjects[0], e.Headline.Subjects[1], doNotTakePart(missing))
	}
	metric := cmp.Or(e.Headline.Metric, result.MetricCPU)
	if !e.kind().Report().Compare().HeadlineMetric(metric, c.Pattern) {
		metric, instead = result.MetricCPU, cmp.Or(instead, fmt.Sprintf("%s: it is not compared under the load %s", metric, c.Load))
	}
	return &result.Headline{A: a, B: b, Metric: metric, Load: c.Load, Connections: c.Connections, Pattern: c.Pattern, Instead: instead, Verdict: result.Undecided, P: 1}
}

// headlineCell returns the cell of the experiment's headline, or another one of the same load or of
// the plan, with the reason. Two measured subjects take part in it; without such a cell it is not
// ok.
func (p Plan) headlineCell(e *Experiment, measured []string) (best workload.Cell, instead string, ok bool) {
	h := e.Headline
	wanted := func(c workload.Cell) bool {
		return (h.Connections == 0 || c.Connections == h.Connections) && (h.Pattern == "" || c.Pattern == h.Pattern)
	}
	load := cmp.Or(h.Load, e.Loads[0].Shared().Name)
	for i, fits := range []func(workload.Cell) bool{
		func(c workload.Cell) bool { return c.Load == load && wanted(c) },
		func(c workload.Cell) bool { return c.Load == load },
		func(workload.Cell) bool { return true },
	} {
		for _, c := range p.Cells {
			if fits(c) && len(p.measuredIn(c, measured)) >= 2 && (!ok || c.Load == best.Load && c.Connections > best.Connections) {
				best, ok = c, true
			}
		}
		if ok {
			if i > 0 && !e.Headline.isDefault() {
				instead = fmt.Sprintf("the load %s: it has no %s in this run", load, h.cellWanted())
			}
			return best, instead, true
		}
	}
	return best, "", false
}

// isDefault reports whether the headline asks for no cell.
func (h Headline) isDefault() bool { return h.Load == "" && h.Connections == 0 && h.Pattern == "" }

// cellWanted describes the cell of a headline that a run does not have.
func (h Headline) cellWanted() string {
	var parts []string
	if h.Connections > 0 {
		parts = append(parts, fmt.Sprintf("%d connections", h.Connections))
	}
	if h.Pattern != "" {
		parts = append(parts, "pattern "+h.Pattern)
	}
	return cmp.Or(strings.Join(parts, " with the "), "two subjects")
}

// measuredIn returns the subjects of a cell whose CPU is measured.
func (p Plan) measuredIn(c workload.Cell, measured []string) []string {
	return slices.DeleteFunc(slices.Clone(p.subjectsFor(c)), func(s string) bool { return !slices.Contains(measured, s) })
}

// headlinePair returns two of the present subjects: those that are named, or the one of them that
// is present and the first other one, or the first two. missing names those that are not present.
func headlinePair(named, present []string) (a, b string, missing []string) {
	var chosen []string
	for _, name := range named {
		if slices.Contains(present, name) {
			chosen = append(chosen, name)
		} else {
			missing = append(missing, name)
		}
	}
	for _, name := range present {
		if len(chosen) < 2 && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen[0], chosen[1], missing
}

// doNotTakePart is a clause on the one or two subjects that are missing.
func doNotTakePart(missing []string) string {
	if len(missing) == 2 {
		return "neither takes part"
	}
	return missing[0] + " does not take part"
}

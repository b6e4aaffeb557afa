package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/compare"
	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/stat"
)

// Digest is a run prepared for the report: its trials by cell, with means and intervals. Cells do
// not have the trials of the headline's own blocks: the means of subjects are compared by eye, and
// the machine may have been faster then.
type Digest struct {
	result.Results // without comparisons that have no pair of trials
	kind           Kind
	// in the run's order, without A/A controls; those that only trials name come last
	Names  []string
	Groups []*Group // in the plan's order
}

// Group holds the trials of one load, one number of connections and one arrival pattern.
type Group struct {
	Load        string
	Connections int
	Pattern     string
	Cells       []*Cell // lowest CPU first; cells without an accepted trial last
	control     *Cell   // of the A/A control; nil: none
}

// Cell is a subject within a group.
type Cell struct {
	Subject    string
	Index      int             // of the subject, for its colour
	Trials     []*result.Trial // accepted
	rejected   []*result.Trial
	failed     []*result.Trial // the subject failed
	Percent    Estimate        // CPU in % of a core
	PerMessage Estimate        // CPU in us
	CV         Estimate        // coefficient of variation; unknown below stat.MinDF
	Spread     stat.PooledCV   // cv with its degrees of freedom
	load       Estimate        // CPU of the generator per message in us
	machine    Estimate        // CPU of the whole machine per message in us
	cold       Estimate        // CPU per message during the warm-up in us
}

// NewDigest prepares a run whose workload has the kind k.
func NewDigest(r *result.Results, k Kind) *Digest {
	d := &Digest{Results: *r, kind: k}
	for _, s := range r.Subjects {
		d.subjectIndex(s.Name)
	}
	shared := slices.ContainsFunc(r.Trials, func(t result.Trial) bool { return !t.OfHeadline() })
	for i := range r.Trials {
		if t := &r.Trials[i]; !shared || !t.OfHeadline() {
			d.addTrial(t)
		}
	}
	d.sortGroups()
	d.Comparisons = comparisons(r, k)
	return d
}

// comparisons returns the comparisons that have pairs. Low and High are replaced with the corrected
// interval of the verdict. Older results lack that interval and have other statistics: their
// comparisons are computed again from the trials.
func comparisons(r *result.Results, k Kind) []result.Comparison {
	all := r.Comparisons
	if slices.ContainsFunc(all, func(c result.Comparison) bool { return c.High > 0 && c.VerdictHigh == 0 }) {
		all = k.Compare().All(r)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(c result.Comparison) bool { return c.Pairs == 0 })
	for i := range all {
		all[i].Low, all[i].High = all[i].VerdictLow, all[i].VerdictHigh
	}
	return all
}

func (d *Digest) subjectIndex(subject string) int {
	i := slices.Index(d.Names, subject)
	if i < 0 {
		i = len(d.Names)
		d.Names = append(d.Names, subject)
	}
	return i
}

// addTrial adds a trial to its cell, which it creates if necessary.
func (d *Digest) addTrial(t *result.Trial) {
	g := d.Group(t.Load, t.Connections, t.Pattern)
	if g == nil {
		g = &Group{Load: t.Load, Connections: t.Connections, Pattern: t.Pattern}
		d.Groups = append(d.Groups, g)
	}
	subject, isControl := strings.CutSuffix(t.Subject, result.ControlSuffix)
	c := g.Cell(subject)
	if isControl {
		c = g.control
	}
	if c == nil {
		c = &Cell{Subject: t.Subject, Index: d.subjectIndex(subject)}
		if isControl {
			g.control = c
		} else {
			g.Cells = append(g.Cells, c)
		}
	}
	switch {
	case t.Accepted:
		c.Trials = append(c.Trials, t)
	case len(t.FailedBecause) > 0:
		c.failed = append(c.failed, t)
	default:
		c.rejected = append(c.rejected, t)
	}
}

// Group returns the group of a load, a number of connections and an arrival pattern; nil: none.
func (d *Digest) Group(load string, connections int, pattern string) *Group {
	return find(d.Groups, func(g *Group) bool {
		return g.Load == load && g.Connections == connections && g.Pattern == pattern
	})
}

// Cell returns the cell of a subject; nil: none.
func (g *Group) Cell(subject string) *Cell {
	return find(g.Cells, func(c *Cell) bool { return c.Subject == subject })
}

// Measured returns the cells with an accepted trial.
func (g *Group) Measured() []*Cell {
	return selected(g.Cells, func(c *Cell) bool { return len(c.Trials) > 0 })
}

// MeasuredCell returns the cell of a subject with an accepted trial; nil: none.
func (g *Group) MeasuredCell(subject string) *Cell {
	return find(g.Measured(), func(c *Cell) bool { return c.Subject == subject })
}

// Sibling returns the first other group with the connections and the pattern of g whose load is
// alike; nil: none. The names of the loads that alike compares are equal.
func (d *Digest) Sibling(g *Group, alike func(own, other result.Load) bool) *Group {
	own := d.LoadOf(g.Load)
	return find(d.Groups, func(o *Group) bool {
		other := d.LoadOf(o.Load)
		own.Name = other.Name
		return o != g && o.Connections == g.Connections && o.Pattern == g.Pattern && alike(own, other)
	})
}

// find returns the first value for which is reports true; nil: none.
func find[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// sortGroups sorts groups in the plan's order (load, connections, pattern) and cells by CPU.
func (d *Digest) sortGroups() {
	var loads []string
	for _, l := range d.Plan.Loads {
		loads = append(loads, l.Name)
	}
	slices.SortStableFunc(d.Groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(indexOrEnd(loads, a.Load), indexOrEnd(loads, b.Load)), cmp.Compare(a.Connections, b.Connections),
			cmp.Compare(indexOrEnd(d.Plan.Patterns, a.Pattern), indexOrEnd(d.Plan.Patterns, b.Pattern)))
	})
	for _, g := range d.Groups {
		for _, c := range g.allCells() {
			c.estimate(d.Elsewhere(c.Subject), d.Plan.WindowMS)
		}
		slices.SortStableFunc(g.Cells, func(a, b *Cell) int {
			return cmp.Or(cmp.Compare(nanLast(a.PerMessage.Mean), nanLast(b.PerMessage.Mean)), cmp.Compare(a.Index, b.Index))
		})
	}
}

// indexOrEnd returns the index of v in order, or its length if v is not in it.
func indexOrEnd(order []string, v string) int {
	if i := slices.Index(order, v); i >= 0 {
		return i
	}
	return len(order)
}

// nanLast returns v as a sort key that puts NaN after all numbers.
func nanLast(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// allCells returns the cells of the group and that of the A/A control.
func (g *Group) allCells() []*Cell {
	if g.control == nil {
		return g.Cells
	}
	return append(slices.Clip(g.Cells), g.control)
}

// estimate computes the cell's estimates. The CPU of a subject elsewhere is unknown.
func (c *Cell) estimate(elsewhere bool, windowMS float64) {
	c.load = EstimateOf(c.Trials, func(t *result.Trial) float64 { return t.LoadUSPerMsg })
	c.machine = EstimateOf(c.Trials, func(t *result.Trial) float64 { return t.MachineUSPerMsg })
	own := c.Trials
	if elsewhere {
		own = nil
	}
	c.Percent = EstimateOf(own, func(t *result.Trial) float64 { return t.CPUPercentMean })
	c.PerMessage = EstimateOf(own, func(t *result.Trial) float64 { return t.CPUUSPerMessage })
	c.cold = EstimateOf(own, func(t *result.Trial) float64 {
		if t.ColdUSPerMsg <= 0 {
			return math.NaN()
		}
		return t.ColdUSPerMsg
	})
	c.Spread = stat.PoolCV(compare.SampledTrials(own), windowMS)
	c.CV = estimateSpread(c.Spread, len(c.Trials))
}

// FormatCV formats the coefficient of variation with its degrees of freedom: "0.046 (12)", or "too
// short (4)" if those are too few.
func (c *Cell) FormatCV() string {
	switch {
	case !c.PerMessage.Known():
		return format.Absent
	case !c.CV.Known():
		return fmt.Sprintf("too short (%d)", c.Spread.DF)
	}
	return fmt.Sprintf("%s (%s)", format.Fixed(c.CV.Mean, 3), format.Count(c.Spread.DF))
}

// Unit returns the word for a message of the run.
func (d *Digest) Unit() string {
	one, _ := d.kind.Units()
	return one
}

// Units returns the plural of Unit.
func (d *Digest) Units() string {
	_, many := d.kind.Units()
	return many
}

// Accepted counts the accepted trials of the run.
func (d *Digest) Accepted() int { return d.count(func(t *result.Trial) bool { return t.Accepted }) }

// count counts the trials of which is reports true.
func (d *Digest) count(is func(*result.Trial) bool) (n int) {
	for i := range d.Trials {
		if is(&d.Trials[i]) {
			n++
		}
	}
	return n
}

// Subject returns the description of a subject; only its name if the run has none.
func (d *Digest) Subject(name string) result.Subject {
	for _, s := range d.Subjects {
		if s.Name == name {
			return s
		}
	}
	return result.Subject{Name: name}
}

// Elsewhere reports whether a subject, or that of an A/A control, was not started by the lab.
func (d *Digest) Elsewhere(name string) bool {
	return d.Subject(strings.TrimSuffix(name, result.ControlSuffix)).Elsewhere
}

// Versus returns the comparison of a with b, with a ratio of a's value over b's. ok is false if
// there is none.
func (d *Digest) Versus(metric string, g *Group, a, b string) (v result.Comparison, ok bool) {
	for _, c := range d.Comparisons {
		switch {
		case c.Metric != metric || !g.has(c):
		case c.A == a && c.B == b:
			return c, true
		case c.A == b && c.B == a:
			c.A, c.B, c.Ratio, c.Low, c.High = a, b, 1/c.Ratio, 1/c.High, 1/c.Low
			v, ok = c, true
		}
	}
	return v, ok
}

// Family returns the comparisons of different subjects in a group, without those of an A/A control.
func (d *Digest) Family(metric string, g *Group) []result.Comparison {
	return selected(d.Comparisons, func(c result.Comparison) bool { return c.Metric == metric && !c.AAControl && g.has(c) })
}

// has reports whether a comparison is of subjects in the group.
func (g *Group) has(c result.Comparison) bool {
	return c.Load == g.Load && c.Connections == g.Connections && c.Pattern == g.Pattern
}

// ConnectionsOf returns the numbers of connections that were run under a load, ascending.
func (d *Digest) ConnectionsOf(load string) []int {
	return distinct(d.Under(load), func(g *Group) int { return g.Connections })
}

// PatternsOf returns the arrival patterns that were run under a load.
func (d *Digest) PatternsOf(load string) []string {
	return distinct(d.Under(load), func(g *Group) string { return g.Pattern })
}

// Loads returns the names of the loads that have trials, in order.
func (d *Digest) Loads() []string {
	return distinct(d.Groups, func(g *Group) string { return g.Load })
}

// GroupsAt returns the groups of a load with a number of connections, one for each arrival pattern.
func (d *Digest) GroupsAt(load string, connections int) []*Group {
	return selected(d.Groups, func(g *Group) bool { return g.Load == load && g.Connections == connections })
}

// Under returns the groups of a load.
func (d *Digest) Under(load string) []*Group {
	return selected(d.Groups, func(g *Group) bool { return g.Load == load })
}

// selected returns the values for which is reports true.
func selected[T any](all []T, is func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !is(v) })
}

// distinct returns the different values of a property of groups, in their order.
func distinct[T comparable](groups []*Group, of func(*Group) T) []T {
	var out []T
	for _, g := range groups {
		if v := of(g); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// Busiest returns the groups with the most connections of the first load. Figures and sentences
// that cover only one load use them. It is nil without trials.
func (d *Digest) Busiest() []*Group {
	if len(d.Groups) == 0 {
		return nil
	}
	return d.kind.Busiest(d)
}

// LoadOf returns a load of the plan; only its name if the plan has none of that name.
func (d *Digest) LoadOf(name string) result.Load {
	for _, l := range d.Plan.Loads {
		if l.Name == name {
			return l
		}
	}
	return result.Load{Name: name}
}

// Rate returns the completely and correctly answered requests per second.
func (c *Cell) Rate() Estimate { return EstimateOf(c.Trials, (*result.Trial).Rate) }

// Millis returns the median over the trials of a percentile of the latency, in milliseconds.
func (c *Cell) Millis(of func(result.Percentiles) float64) float64 {
	return Median(c.Trials, func(t *result.Trial) float64 { return of(t.LatencyUS) / 1000 })
}

func P50(p result.Percentiles) float64 { return p.P50 }

func P99(p result.Percentiles) float64 { return p.P99 }

// Describe describes a load by name: see Kind.
func (d *Digest) Describe(load string) string {
	if i := slices.IndexFunc(d.Plan.Loads, func(l result.Load) bool { return l.Name == load }); i >= 0 {
		return d.kind.Describe(d.Plan.Loads[i])
	}
	return "load " + load
}

// MostConnected returns the groups with the most connections of the first load. There is a trial.
func (d *Digest) MostConnected() []*Group {
	load := d.Groups[0].Load
	return d.GroupsAt(load, slices.Max(d.ConnectionsOf(load)))
}

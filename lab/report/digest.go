package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"weir/lab/compare"
	"weir/lab/result"
	"weir/lab/stat"
)

// digest is a run prepared for the report: its trials by cell, with means and intervals.
type digest struct {
	result.Results // without comparisons that have no pair of trials
	kind           kind
	// in the run's order, without A/A controls; those that only trials name come last
	subjects []string
	groups   []*group // in the plan's order
	pairs    map[pairKey]result.Comparison
}

// group holds the trials of one load, one number of connections and one arrival pattern.
type group struct {
	load        string
	connections int
	pattern     string
	cells       []*cell // lowest CPU first; cells without an accepted trial last
	control     *cell   // of the A/A control; nil: none
}

// cell is a subject within a group.
type cell struct {
	subject    string
	index      int             // of the subject, for its colour
	trials     []*result.Trial // accepted
	rejected   []*result.Trial
	failed     []*result.Trial // the subject failed
	percent    estimate        // CPU in % of a core
	perMessage estimate        // CPU in us
	cv         estimate        // coefficient of variation; unknown below stat.MinDF
	spread     stat.PooledCV   // cv with its degrees of freedom
	load       estimate        // CPU of the generator per message in us
	machine    estimate        // CPU of the whole machine per message in us
	cold       estimate        // CPU per message during the warm-up in us
}

// estimate is a mean with its 95 % confidence interval. mean is NaN without values, low and high
// with fewer than two.
type estimate struct {
	mean, low, high float64
	n               int // number of values
}

type pairKey struct {
	metric, load, pattern, a, b string
	connections                 int
}

func digestOf(r *result.Results) *digest {
	d := &digest{Results: *r, pairs: map[pairKey]result.Comparison{}}
	d.kind = kindOf(d)
	for _, s := range r.Subjects {
		d.subjectIndex(s.Name)
	}
	for i := range r.Trials {
		d.addTrial(&r.Trials[i])
	}
	d.sortGroups()
	d.Comparisons = comparisons(r)
	for _, c := range d.Comparisons {
		d.pairs[keyOf(c.Metric, c.Load, c.Connections, c.Pattern, c.A, c.B)] = c
	}
	return d
}

// comparisons returns the comparisons that have pairs. Low and High are replaced with the corrected
// interval of the verdict. Older results lack that interval and have other statistics: their
// comparisons are computed again from the trials.
func comparisons(r *result.Results) []result.Comparison {
	all := r.Comparisons
	if slices.ContainsFunc(all, func(c result.Comparison) bool { return c.High > 0 && c.VerdictHigh == 0 }) {
		all = compare.Kind{}.All(r)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(c result.Comparison) bool { return c.Pairs == 0 })
	for i := range all {
		all[i].Low, all[i].High = all[i].VerdictLow, all[i].VerdictHigh
	}
	return all
}

func keyOf(metric, load string, connections int, pattern, a, b string) pairKey {
	return pairKey{metric, load, pattern, a, b, connections}
}

func (d *digest) subjectIndex(subject string) int {
	i := slices.Index(d.subjects, subject)
	if i < 0 {
		i = len(d.subjects)
		d.subjects = append(d.subjects, subject)
	}
	return i
}

// addTrial adds a trial to its cell, which it creates if necessary.
func (d *digest) addTrial(t *result.Trial) {
	g := d.group(t.Load, t.Connections, t.Pattern)
	if g == nil {
		g = &group{load: t.Load, connections: t.Connections, pattern: t.Pattern}
		d.groups = append(d.groups, g)
	}
	subject, isControl := strings.CutSuffix(t.Subject, result.ControlSuffix)
	index := d.subjectIndex(subject)
	c := g.cell(subject)
	switch {
	case isControl && g.control == nil:
		g.control = &cell{subject: t.Subject, index: index}
		c = g.control
	case isControl:
		c = g.control
	case c == nil:
		c = &cell{subject: subject, index: index}
		g.cells = append(g.cells, c)
	}
	switch {
	case t.Accepted:
		c.trials = append(c.trials, t)
	case len(t.FailedBecause) > 0:
		c.failed = append(c.failed, t)
	default:
		c.rejected = append(c.rejected, t)
	}
}

func (d *digest) group(load string, connections int, pattern string) *group {
	for _, g := range d.groups {
		if g.load == load && g.connections == connections && g.pattern == pattern {
			return g
		}
	}
	return nil
}

func (g *group) cell(subject string) *cell {
	for _, c := range g.cells {
		if c.subject == subject {
			return c
		}
	}
	return nil
}

// sortGroups sorts groups in the plan's order (load, connections, pattern) and cells by CPU.
func (d *digest) sortGroups() {
	loads := make([]string, len(d.Plan.Loads))
	for i, l := range d.Plan.Loads {
		loads[i] = l.Name
	}
	slices.SortStableFunc(d.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(indexOrEnd(loads, a.load), indexOrEnd(loads, b.load)), cmp.Compare(a.connections, b.connections),
			cmp.Compare(indexOrEnd(d.Plan.Patterns, a.pattern), indexOrEnd(d.Plan.Patterns, b.pattern)))
	})
	for _, g := range d.groups {
		for _, c := range g.allCells() {
			c.estimate(d.elsewhere(c.subject), d.Plan.WindowMS)
		}
		slices.SortStableFunc(g.cells, func(a, b *cell) int {
			return cmp.Or(cmp.Compare(nanLast(a.perMessage.mean), nanLast(b.perMessage.mean)), cmp.Compare(a.index, b.index))
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
func (g *group) allCells() []*cell {
	if g.control == nil {
		return g.cells
	}
	return append(slices.Clip(g.cells), g.control)
}

// estimate computes the cell's estimates. The CPU of a subject elsewhere is unknown.
func (c *cell) estimate(elsewhere bool, windowMS float64) {
	of := func(f func(*result.Trial) float64) estimate { return estimateOf(c.trials, f) }
	none := func(*result.Trial) float64 { return math.NaN() }
	percent, perMessage := func(t *result.Trial) float64 { return t.CPUPercentMean }, func(t *result.Trial) float64 { return t.CPUUSPerMessage }
	cold := func(t *result.Trial) float64 {
		if t.ColdUSPerMsg <= 0 {
			return math.NaN()
		}
		return t.ColdUSPerMsg
	}
	c.spread = stat.PoolCV(compare.SampledTrials(c.trials), windowMS)
	if elsewhere {
		percent, perMessage, cold, c.spread = none, none, none, stat.PoolCV(nil, windowMS)
	}
	c.percent, c.perMessage, c.cold = of(percent), of(perMessage), of(cold)
	c.cv = estimateSpread(c.spread, len(c.trials))
	c.load = of(func(t *result.Trial) float64 { return t.LoadUSPerMsg })
	c.machine = of(func(t *result.Trial) float64 { return t.MachineUSPerMsg })
}

// estimateSpread converts a coefficient of variation to an estimate; one with too few degrees of
// freedom is unknown.
func estimateSpread(s stat.PooledCV, trials int) estimate {
	e := estimate{math.NaN(), math.NaN(), math.NaN(), trials}
	if s.HasMinDF() {
		e.mean = s.CV
	}
	if s.HasMinDF() && s.High > 0 {
		e.low, e.high = s.Low, s.High
	}
	return e
}

// formatCV formats the coefficient of variation with its degrees of freedom: "0.046 (12)", or "too
// short (4)" if those are too few.
func (c *cell) formatCV() string {
	switch {
	case !c.perMessage.known():
		return absent
	case !c.cv.known():
		return fmt.Sprintf("too short (%d)", c.spread.DF)
	}
	return fmt.Sprintf("%s (%s)", fixed(c.cv.mean, 3), count(c.spread.DF))
}

// estimateOf returns the mean over trials. The interval is Student's t over the means of blocks,
// since the two trials of a block share its drift.
func estimateOf(trials []*result.Trial, of func(*result.Trial) float64) estimate {
	blocks := map[int][]float64{}
	var order []int
	n := 0
	for _, t := range trials {
		v := of(t)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if blocks[t.Block] == nil {
			order = append(order, t.Block)
		}
		blocks[t.Block] = append(blocks[t.Block], v)
		n++
	}
	var means []float64
	for _, b := range order {
		means = append(means, gonum.Mean(blocks[b], nil))
	}
	e := intervalOf(means)
	e.n = n
	return e
}

// intervalOf returns the mean of v with its interval. If no value is negative, the interval is
// limited to 0: with few values it could include impossible ones.
func intervalOf(v []float64) estimate {
	e := studentOf(v)
	if e.hasInterval() && slices.Min(v) >= 0 {
		e.low = max(e.low, 0)
	}
	return e
}

// studentOf returns the mean of v, which may be of either sign, with Student's t interval.
func studentOf(v []float64) estimate {
	e := estimate{math.NaN(), math.NaN(), math.NaN(), len(v)}
	if len(v) > 0 {
		e.mean = gonum.Mean(v, nil)
	}
	if len(v) > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: float64(len(v) - 1)}.Quantile(0.975)
		half := t * gonum.StdErr(gonum.StdDev(v, nil), float64(len(v)))
		e.low, e.high = e.mean-half, e.mean+half
	}
	return e
}

func (e estimate) known() bool { return !math.IsNaN(e.mean) && !math.IsInf(e.mean, 0) }

func (e estimate) hasInterval() bool { return e.low < e.high && !math.IsInf(e.high-e.low, 0) }

// unit returns the word for a message of the run.
func (d *digest) unit() string { return d.Plan.Unit() }

func (d *digest) units() string { return d.Plan.Units() }

// accepted counts the accepted trials of the run.
func (d *digest) accepted() int {
	n := 0
	for i := range d.Trials {
		if d.Trials[i].Accepted {
			n++
		}
	}
	return n
}

// subject returns the description of a subject; only its name if the run has none.
func (d *digest) subject(name string) result.Subject {
	for _, s := range d.Subjects {
		if s.Name == name {
			return s
		}
	}
	return result.Subject{Name: name}
}

func (d *digest) elsewhere(name string) bool {
	return d.subject(strings.TrimSuffix(name, result.ControlSuffix)).Elsewhere
}

// versus returns the comparison of a with b, with a ratio of a's value over b's. ok is false if
// there is none.
func (d *digest) versus(metric string, g *group, a, b string) (result.Comparison, bool) {
	if c, ok := d.pairs[keyOf(metric, g.load, g.connections, g.pattern, a, b)]; ok {
		return c, true
	}
	c, ok := d.pairs[keyOf(metric, g.load, g.connections, g.pattern, b, a)]
	if ok {
		c.A, c.B, c.Ratio, c.Low, c.High = a, b, 1/c.Ratio, 1/c.High, 1/c.Low
	}
	return c, ok
}

// connections returns the numbers of connections that were run under a load, ascending.
func (d *digest) connections(load string) []int {
	var out []int
	for _, g := range d.groups {
		if g.load == load && !slices.Contains(out, g.connections) {
			out = append(out, g.connections)
		}
	}
	return out
}

// loads returns the names of the loads that have trials, in order.
func (d *digest) loads() []string {
	var out []string
	for _, g := range d.groups {
		if !slices.Contains(out, g.load) {
			out = append(out, g.load)
		}
	}
	return out
}

// groupsAt returns the groups of a load with a number of connections, one for each arrival pattern.
func (d *digest) groupsAt(load string, connections int) []*group {
	var out []*group
	for _, g := range d.groups {
		if g.load == load && g.connections == connections {
			out = append(out, g)
		}
	}
	return out
}

// patterns returns the arrival patterns that were run under a load.
func (d *digest) patterns(load string) []string {
	var out []string
	for _, g := range d.groups {
		if g.load == load && !slices.Contains(out, g.pattern) {
			out = append(out, g.pattern)
		}
	}
	return out
}

// busiest returns the groups with the most connections of the first load. Figures and sentences
// that cover only one load use them. It is nil without trials.
func (d *digest) busiest() []*group {
	if len(d.groups) == 0 {
		return nil
	}
	return d.kind.busiest()
}

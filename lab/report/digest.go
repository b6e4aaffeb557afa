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

// digest is a run arranged for showing: its trials by cell, with means and intervals.
type digest struct {
	result.Results // without comparisons of subjects that never met in a block
	// in the run's order, without twins; those that only trials name come last
	subjects []string
	groups   []*group // in the plan's order
	pairs    map[pairKey]result.Comparison
}

// group is everything measured under one load with one number of connections and one arrival
// pattern.
type group struct {
	load        string
	connections int
	pattern     string
	cells       []*cell // cheapest first; cells without an accepted trial last
	twin        *cell   // nil when the twin was not in it
}

// cell is a subject within a group.
type cell struct {
	subject    string
	index      int // of the subject, for its colour
	trials     []*result.Trial
	refused    []*result.Trial
	failed     []*result.Trial // by the subject's own doing
	percent    estimate        // CPU in % of a core
	perMessage estimate        // us of CPU
	cv         estimate        // not known below stat.LeastDF
	spread     stat.Spread     // what it was made of
	load       estimate        // us of the generator's CPU per message
	machine    estimate        // us of the whole machine's CPU per message
	cold       estimate        // us per message during the warm-up
}

// estimate is a mean with its 95 % interval. Mean is NaN without values, the ends with fewer than
// two.
type estimate struct {
	mean, low, high float64
	n               int
}

type pairKey struct {
	metric, load, pattern, a, b string
	connections                 int
}

func digestOf(r *result.Results) *digest {
	d := &digest{Results: *r, pairs: map[pairKey]result.Comparison{}}
	for _, s := range r.Subjects {
		d.name(s.Name)
	}
	for i := range r.Trials {
		d.place(&r.Trials[i])
	}
	d.sortGroups()
	d.Comparisons = comparisons(r)
	for _, c := range d.Comparisons {
		d.pairs[keyOf(c.Metric, c.Load, c.Connections, c.Pattern, c.A, c.B)] = c
	}
	return d
}

// comparisons is those that have pairs, each with the interval that its verdict rests on.
// Comparisons of older versions have none, and were made by statistics that are not used any more:
// they are made again from the trials.
func comparisons(r *result.Results) []result.Comparison {
	all := r.Comparisons
	if slices.ContainsFunc(all, func(c result.Comparison) bool { return c.High > 0 && c.VerdictHigh == 0 }) {
		all = compare.All(r)
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

func (d *digest) name(subject string) int {
	i := slices.Index(d.subjects, subject)
	if i < 0 {
		i = len(d.subjects)
		d.subjects = append(d.subjects, subject)
	}
	return i
}

// place puts a trial into its cell, which it makes when there is none.
func (d *digest) place(t *result.Trial) {
	g := d.group(t.Load, t.Connections, t.Pattern)
	if g == nil {
		g = &group{load: t.Load, connections: t.Connections, pattern: t.Pattern}
		d.groups = append(d.groups, g)
	}
	subject, twin := strings.CutSuffix(t.Subject, result.TwinSuffix)
	index := d.name(subject)
	c := g.cell(subject)
	switch {
	case twin && g.twin == nil:
		g.twin = &cell{subject: t.Subject, index: index}
		c = g.twin
	case twin:
		c = g.twin
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
		c.refused = append(c.refused, t)
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

// sortGroups puts groups into the plan's order (load, connections, pattern) and cells by cost.
func (d *digest) sortGroups() {
	loads := make([]string, len(d.Plan.Loads))
	for i, l := range d.Plan.Loads {
		loads[i] = l.Name
	}
	slices.SortStableFunc(d.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(rank(loads, a.load), rank(loads, b.load)), cmp.Compare(a.connections, b.connections),
			cmp.Compare(rank(d.Plan.Patterns, a.pattern), rank(d.Plan.Patterns, b.pattern)))
	})
	for _, g := range d.groups {
		for _, c := range g.all() {
			c.estimate(d.elsewhere(c.subject), d.Plan.WindowMS)
		}
		slices.SortStableFunc(g.cells, func(a, b *cell) int {
			return cmp.Or(cmp.Compare(last(a.perMessage.mean), last(b.perMessage.mean)), cmp.Compare(a.index, b.index))
		})
	}
}

// rank is the place of v in order, after all others when it is not in it.
func rank(order []string, v string) int {
	if i := slices.Index(order, v); i >= 0 {
		return i
	}
	return len(order)
}

// last makes what is not a number sort after all numbers.
func last(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// all is the cells of the group and the twin's.
func (g *group) all() []*cell {
	if g.twin == nil {
		return g.cells
	}
	return append(slices.Clip(g.cells), g.twin)
}

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
	c.spread = stat.Pool(compare.Records(c.trials), windowMS)
	if elsewhere {
		percent, perMessage, cold, c.spread = none, none, none, stat.Pool(nil, windowMS)
	}
	c.percent, c.perMessage, c.cold = of(percent), of(perMessage), of(cold)
	c.cv = estimateSpread(c.spread, len(c.trials))
	c.load = of(func(t *result.Trial) float64 { return t.LoadUSPerMsg })
	c.machine = of(func(t *result.Trial) float64 { return t.MachineUSPerMsg })
}

// estimateSpread is a spread as an estimate, not known where it rests on too little.
func estimateSpread(s stat.Spread, trials int) estimate {
	e := estimate{math.NaN(), math.NaN(), math.NaN(), trials}
	if s.Enough() {
		e.mean = s.CV
	}
	if s.Enough() && s.High > 0 {
		e.low, e.high = s.Low, s.High
	}
	return e
}

// varied is the spread beside its degrees of freedom: "0.046 (12)", and "too short (4)" where those
// are too few.
func (c *cell) varied() string {
	switch {
	case !c.perMessage.known():
		return absent
	case !c.cv.known():
		return fmt.Sprintf("too short (%d)", c.spread.DF)
	}
	return fmt.Sprintf("%s (%s)", fixed(c.cv.mean, 3), count(c.spread.DF))
}

// estimateOf takes the mean over trials. Its interval is Student's t over the means of blocks,
// since the two trials of a block mirror each other and share its drift.
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

// intervalOf is the mean of v with its interval. Where no value is below 0, neither is the
// interval: few and scattered values would otherwise claim the impossible.
func intervalOf(v []float64) estimate {
	e := studentOf(v)
	if e.ranged() && slices.Min(v) >= 0 {
		e.low = max(e.low, 0)
	}
	return e
}

// studentOf is the mean of v, which may be of either sign, with its interval.
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

func (e estimate) ranged() bool { return e.low < e.high && !math.IsInf(e.high-e.low, 0) }

// unit is what a message of the run is called.
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

// subject is what is known of a subject; only its name when the run does not describe it.
func (d *digest) subject(name string) result.Subject {
	for _, s := range d.Subjects {
		if s.Name == name {
			return s
		}
	}
	return result.Subject{Name: name}
}

func (d *digest) elsewhere(name string) bool {
	return d.subject(strings.TrimSuffix(name, result.TwinSuffix)).Elsewhere
}

// versus is the comparison of a with b, turned so that its ratio is a's value over b's.
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

// connections is the numbers of connections that were run, ascending, under a load.
func (d *digest) connections(load string) []int {
	var out []int
	for _, g := range d.groups {
		if g.load == load && !slices.Contains(out, g.connections) {
			out = append(out, g.connections)
		}
	}
	return out
}

// loads is the names of the loads that have trials, in order.
func (d *digest) loads() []string {
	var out []string
	for _, g := range d.groups {
		if !slices.Contains(out, g.load) {
			out = append(out, g.load)
		}
	}
	return out
}

// at is the groups under a load with a number of connections, one for each pattern.
func (d *digest) at(load string, connections int) []*group {
	var out []*group
	for _, g := range d.groups {
		if g.load == load && g.connections == connections {
			out = append(out, g)
		}
	}
	return out
}

// patterns is the arrival patterns that were run under a load.
func (d *digest) patterns(load string) []string {
	var out []string
	for _, g := range d.groups {
		if g.load == load && !slices.Contains(out, g.pattern) {
			out = append(out, g.pattern)
		}
	}
	return out
}

// busiest is the groups with the most connections, of the first load when there are several: what
// the figures show when they can show only one. Nil without trials.
func (d *digest) busiest() []*group {
	if len(d.groups) == 0 {
		return nil
	}
	if d.Plan.HTTP() {
		return d.telling()
	}
	load := d.groups[0].load
	return d.at(load, slices.Max(d.connections(load)))
}

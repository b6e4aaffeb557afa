package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// kneeGroup is the knees of a load on a number of connections, the highest first.
type kneeGroup struct {
	load        string
	connections int
	knees       []result.Knee
}

// kneeGroups groups the knees of a run.
func (d *Digest) kneeGroups() (all []*kneeGroup) {
	for _, k := range d.Knees {
		g := find(all, func(g *kneeGroup) bool { return g.load == k.Load && g.connections == k.Connections })
		if g == nil {
			g = &kneeGroup{load: k.Load, connections: k.Connections}
			all = append(all, g)
		}
		g.knees = append(g.knees, k)
	}
	for _, g := range all {
		slices.SortStableFunc(g.knees, func(a, b result.Knee) int { return cmp.Compare(b.Rate, a.Rate) })
	}
	return all
}

// kneeCaption identifies a group of knees.
func (d *Digest) kneeCaption(g *kneeGroup) string {
	text := g.knees[0].Criterion + ", " + format.Connections(g.connections)
	if len(d.Plan.Loads) > 1 {
		text += ", " + g.load
	}
	return text
}

// kneeText formats a knee with its interval.
func kneeText(k result.Knee) string {
	switch {
	case k.Rate == 0 && k.Why != "":
		return "not found (" + k.Why + ")"
	case k.Rate == 0:
		return "none"
	case k.GeneratorBound:
		return "at least " + format.Rate(k.Low) + "/s"
	case k.Low == k.High:
		return format.Rate(k.Rate) + "/s"
	}
	return fmt.Sprintf("%s/s (%s to %s)", format.Rate(k.Rate), format.Rate(k.Low), format.Rate(k.High))
}

const (
	significance = 0.05 // of verdicts on knees
	// words for a knee whose relation to the highest is not known
	kneeUndecided = "not significantly different"
)

// kneeVerdict compares a knee with the highest of others. It is lower if every estimate is below
// every one of the highest: the exact probability of that order by chance, of both orders, is twice
// one by the number of orders (Mann and Whitney 1947), and is corrected for the comparisons
// (Bonferroni).
func kneeVerdict(k, highest result.Knee, comparisons int) string {
	a, b := len(k.Estimates), len(highest.Estimates)
	switch {
	case k.Rate == 0 && k.Why != "":
		return "not found"
	case k.Rate == 0:
		return "no rate kept the criterion"
	case k.GeneratorBound:
		return "the generator was at its limit"
	case a == 0 || b == 0 || slices.Max(k.Estimates) >= slices.Min(highest.Estimates):
		return kneeUndecided
	}
	lowerOrder := 1.0 // the number of ways in which a+b estimates can be ordered
	for i := range b {
		lowerOrder *= float64(a+i+1) / float64(i+1)
	}
	if p := 2 / lowerOrder * float64(comparisons); p <= significance {
		return fmt.Sprintf("lower (p = %s)", format.Sig(p))
	}
	return kneeUndecided
}

// kneeTable lists the subjects of a group, the highest knee first.
func (d *Digest) kneeTable(g *kneeGroup) *Table {
	t := &Table{Caption: "Highest rate with " + d.kneeCaption(g) + ", highest first", Align: "lrrrlrl",
		Head: []string{"Subject", format.Upper(d.Units()) + "/s", "Range of the searches", "Of the highest", "Compared with the highest", "Searches", "Note"}}
	for i, k := range g.knees {
		within, share, verdict := format.Absent, format.Absent, "highest"
		if k.High > 0 {
			within = format.Rate(k.Low) + " to " + format.Rate(k.High)
		}
		if i > 0 || k.Rate == 0 {
			verdict = kneeVerdict(k, g.knees[0], len(g.knees)-1)
		}
		if g.knees[0].Rate > 0 {
			share = format.Percent(k.Rate / g.knees[0].Rate)
		}
		t.Add(k.Subject, format.Rate(k.Rate), within, share, verdict, format.Count(len(k.Estimates)), kneeNote(k))
	}
	return t
}

// kneeNote says what is particular about a knee.
func kneeNote(k result.Knee) string {
	switch {
	case k.Why != "":
		return k.Why
	case k.GeneratorBound:
		return "the generator cannot offer more"
	case !k.Confirmed:
		return "not every search found a rate"
	}
	return ""
}

// kneeTables returns the tables of all groups.
func (d *Digest) kneeTables() (all []*Table) {
	for _, g := range d.kneeGroups() {
		all = append(all, d.kneeTable(g))
	}
	return all
}

// kneeFigure has a row for each subject, with the range of its searches.
func (d *Digest) kneeFigure(g *kneeGroup) *figure.Figure {
	c := figure.Rows{Name: fmt.Sprintf("knee-%s-%d", g.load, g.connections), Title: "Highest rate with " + d.kneeCaption(g),
		Desc: "One row for each subject, with the range of its searches.", X: figure.Axis{Label: d.Units() + "/s", Zero: true}}
	for i, k := range g.knees {
		e := Estimate{Mean: k.Rate, Low: k.Low, High: k.High, N: len(k.Estimates)}
		if k.Rate == 0 {
			continue
		}
		if k.Low == k.High {
			e.Low, e.High = math.NaN(), math.NaN()
		}
		best := i == 0 || kneeVerdict(k, g.knees[0], len(g.knees)-1) == kneeUndecided
		c.Rows = append(c.Rows, MainRow(k.Subject, d.Units()+"/s", e, best))
	}
	return c.Draw()
}

// kneeAnswer states the knees.
func (d *Digest) kneeAnswer() (a Answer) {
	for _, g := range d.kneeGroups() {
		var said []string
		for _, k := range g.knees {
			said = append(said, k.Subject+" "+kneeText(k))
		}
		a.Sentences = append(a.Sentences, fmt.Sprintf("The highest rates with %s: %s.", d.kneeCaption(g), format.List(said)))
		if a.Figure == nil {
			a.Figure = d.kneeFigure(g)
		}
	}
	a.How = "Each rate is the median of five searches, and the brackets their range, which contains the median with 94 %. Latency counts from the time at which a " + d.Unit() + " was due."
	disturbed := 0
	for _, p := range d.KneeProbes {
		if len(p.DisturbedBy) > 0 {
			disturbed++
		}
	}
	if disturbed > 0 {
		a.Caveats = append(a.Caveats, fmt.Sprintf("%s at which a subject did not keep up had a disturbance by other processes, three times each: on a quiet machine the knees may be higher.", format.Plural(disturbed, "probe", "probes")))
	}
	return a
}

// kneeSection shows the knees and the probes of their searches.
func (d *Digest) kneeSection() Section {
	s := Section{ID: "knee", Title: "The highest rate that keeps the latency",
		How: "A subject keeps up with a rate if the latency keeps the criterion, less than 1 % of the " + d.Units() + " fail, and the backlog does not grow. The first search doubles the rate until it is too high, and bisects; a rate is too high if it fails twice. Five more searches near the result are the estimates. The subjects take turns, one probe each. A knee is lower than the highest if all its estimates are, with a correction for the number of comparisons."}
	for _, g := range d.kneeGroups() {
		s.Blocks = append(s.Blocks, Block{Table: d.kneeTable(g)}, Block{Fold: "Every probe: " + d.kneeCaption(g), Inside: []Block{{Table: d.probeTable(g)}}})
	}
	return s
}

// probeTable lists the probes of a group in the order in which they ran.
func (d *Digest) probeTable(g *kneeGroup) *Table {
	t := &Table{Caption: "Probes in the order in which they ran", Align: "lrrrrrl", Head: []string{"Subject", "Offered/s", "Done/s", "p50, ms", "p99, ms", "CPU, %", "Too high because"}}
	for _, p := range d.KneeProbes {
		if p.Load != g.load || p.Connections != g.connections {
			continue
		}
		offered := format.Rate(p.Rate)
		if p.Rate == 0 {
			offered = "closed loop"
		}
		t.Add(p.Subject, offered, format.Rate(p.MessageRate), format.Sig(p.LatencyUS.P50/1e3), format.Sig(p.LatencyUS.P99/1e3), format.Sig(p.CPUPercentMean), p.Why)
	}
	return t
}

// kneeTeX returns the knees as a table for LaTeX; none without knees.
func (d *Digest) kneeTeX() []TeXTable {
	if len(d.Knees) == 0 {
		return nil
	}
	t := TeXTable{Align: "c|lrr", Head: []string{`Load & Subject & knee [1/s] & range [1/s]`}, Caption: `Highest rate that keeps the criterion, median and range of the searches; -- means none.`}
	for _, g := range d.kneeGroups() {
		var rows [][]string
		for _, k := range g.knees {
			within := format.Absent
			if k.High > 0 {
				within = format.Rate(k.Low) + " to " + format.Rate(k.High)
			}
			rows = append(rows, []string{k.Subject, format.Rate(k.Rate), within})
		}
		t.Groups = append(t.Groups, TeXGroup{Name: d.kneeCaption(g), Rows: rows})
	}
	return []TeXTable{t}
}

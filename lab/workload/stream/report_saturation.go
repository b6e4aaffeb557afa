package stream

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// boundMark follows the name of a subject whose capacity was limited by the generator.
const boundMark = "*"

// saturationSection answers the paper's second question near capacity. It is empty without
// --saturation.
func (d digest) saturationSection() report.Section {
	s := report.Section{ID: "saturation", Title: "Near saturation",
		How: "The capacity lies between the highest rate that a subject kept up with and the lowest with which it did not. Two subjects with overlapping ranges cannot be ranked. " +
			"Each subject was then measured at shares of its capacity: points are medians, whiskers the range of all repetitions. " +
			"A server is easy to provision if its variation and its tail latency stay flat up to the right edge."}
	for _, f := range d.capacityGroups() {
		s.Blocks = append(s.Blocks, report.Block{Head: format.Upper(f.name)}, report.Block{Text: d.capacitySentence(f)}, report.Block{Text: d.flatSentence(f)},
			report.Block{Figures: f.figures()}, f.boundNote(), report.Block{Table: f.table()}, f.shareNotes(),
			report.Block{Fold: "How the capacities were found", Inside: []report.Block{{Table: d.probesTable(f)}}})
	}
	return s
}

// boundNote explains boundMark if the generator limited the capacity of a subject.
func (f *capacityGroup) boundNote() report.Block {
	if !slices.ContainsFunc(f.capacities, func(r *subjectCapacity) bool { return r.gaveOut.GeneratorBound }) {
		return report.Block{}
	}
	return report.Paragraph("%s The load generator reached its limit before this subject did. The shares are of the generator's limit, so they say little about the subject near its own capacity.", boundMark)
}

// mark returns a subject's name, with boundMark if the generator reached its limit first.
func (r *subjectCapacity) mark() string {
	if r.gaveOut.GeneratorBound {
		return r.subject + boundMark
	}
	return r.subject
}

// figures draws the variation and the tail latency.
func (f *capacityGroup) figures() []*figure.Figure {
	draw := func(name, title string, y figure.Axis, of func(result.Saturation) float64, unit string) *figure.Figure {
		c := figure.Lines{Name: fmt.Sprintf("saturation-%s-%s-%d-%s", name, f.load, f.connections, f.pattern), Title: title + " near capacity: " + f.name,
			Desc: "One curve for each subject; rings if the load generator reached its limit first.", X: figure.Axis{Label: "% of the subject's capacity"}, Y: y}
		for _, r := range f.capacities {
			if curve := r.curve(&c.X, of, unit); len(curve.Points) > 0 {
				c.Curves = append(c.Curves, curve)
			}
		}
		return c.Draw()
	}
	return []*figure.Figure{
		draw("variation", "Variation of CPU", figure.Axis{Label: "standard deviation / mean of CPU", Zero: true}, variation, ""),
		draw("tail", "99th percentile", figure.Axis{Label: "echo p99, ms", Log: true}, tailMS, " ms"),
	}
}

// curve returns a subject's medians and ranges, and adds a tick for each share to x.
func (r *subjectCapacity) curve(x *figure.Axis, of func(result.Saturation) float64, unit string) figure.Curve {
	c := figure.Curve{Name: r.mark(), Style: r.index, Hollow: r.gaveOut.GeneratorBound}
	for _, s := range r.shares {
		e := s.medianOf(of)
		if !e.Known() {
			continue
		}
		if !slices.Contains(x.At, s.percent) {
			x.At = append(x.At, s.percent)
		}
		c.Points = append(c.Points, e.Point(s.percent, fmt.Sprintf("%s at %s %%: %s%s, median of %d", r.mark(), format.Short(s.percent), e, unit, e.N)))
	}
	return c
}

func (f *capacityGroup) table() *report.Table {
	t := &report.Table{Caption: format.Upper(f.name) + ": at shares of each subject's capacity, medians with the range of all repetitions", Align: "lrrrrrrr",
		Head: []string{"Subject", "Capacity, messages/s", "Share, %", "Repetitions", "CPU, % of a core", "σ/µ", "Echo p50, ms", "Echo p99, ms"}}
	for _, r := range f.capacities {
		for i, s := range r.shares {
			if i == 0 {
				t.StartGroup()
			}
			percent, median := s.medianOf(func(m result.Saturation) float64 { return m.CPUPercentMean }), s.medianOf(func(m result.Saturation) float64 { return m.LatencyUS.P50 / 1000 })
			t.Add(r.mark(), r.capacity(), format.Short(s.percent), format.Count(len(s.accepted)), format.Sig(percent.Mean), s.medianOf(variation).String(), format.Sig(median.Mean), s.medianOf(tailMS).String())
		}
	}
	return t
}

// shareNotes says how many measurements were rejected, and which subjects failed in the others.
func (f *capacityGroup) shareNotes() report.Block {
	all, rejected := 0, 0
	var why, wrong format.Tally
	for _, r := range f.capacities {
		for _, s := range r.shares {
			all, rejected = all+len(s.accepted)+len(s.rejected), rejected+len(s.rejected)
			for _, m := range s.rejected {
				for _, w := range m.RejectedBecause {
					why.Add(report.ReasonKind(w), 1)
				}
			}
			for _, m := range s.accepted {
				for _, w := range m.FailedBecause {
					wrong.Add(r.subject+" at "+format.Short(s.percent)+" %: "+report.ReasonKind(w), 1)
				}
			}
		}
	}
	counted := func(t format.Tally) string { return strings.Join(t.ByCount().Phrases("%s (%s)"), ", ") }
	said := fmt.Sprintf("None of %s was rejected.", format.Plural(all, "measurement", "measurements"))
	switch {
	case all == 0:
		said = "No share of a capacity was measured."
	case rejected > 0:
		said = fmt.Sprintf("%s of %s rejected and repeated, up to three times: %s.", format.Count(rejected), format.Plural(all, "measurement was", "measurements were"), counted(why))
	}
	if len(wrong.Words) > 0 {
		said += " Failures of subjects in measurements that count: " + counted(wrong) + "."
	}
	return report.Block{Text: said}
}

// probesTable lists every rate of the search by subject, in the order in which they were tried.
func (d digest) probesTable(f *capacityGroup) *report.Table {
	t := &report.Table{Caption: format.Upper(f.name) + ": every rate that was tried", Align: "lrlrrrrr",
		Head: []string{"Subject", "Messages/s", "Limited by", "Sent", "Lateness p99, ms", "Echo p99, ms", "Server, % of a core", "Generator, % of a core"}}
	for _, p := range d.Probes {
		if p.Load != f.load || p.Connections != f.connections || p.Pattern != f.pattern {
			continue
		}
		server := p.CPUPercentMean
		if d.Elsewhere(p.Subject) {
			server = math.NaN()
		}
		t.Add(p.Subject, rough(p.Rate), gaveOut(p), format.Percent(p.AchievedRatio), format.Sig(p.LatenessP99US/1000), format.Sig(p.LatencyP99US/1000), format.Sig(server), format.Sig(p.LoadPercent))
	}
	return t
}

// gaveOut names the part that did not keep up with a rate.
func gaveOut(p result.Probe) string {
	s := "the server"
	switch {
	case p.KeptUp:
		return "nothing"
	case p.GeneratorBound:
		s = "the generator"
	}
	if len(p.DisturbedBy) > 0 {
		s += ", disturbed in every attempt: " + strings.Join(p.DisturbedBy, "; ")
	}
	return s
}

// capacityTables returns the tables for a terminal.
func (d digest) capacityTables() []*report.Table {
	var tables []*report.Table
	for _, f := range d.capacityGroups() {
		t := &report.Table{Caption: format.Upper(f.name) + ": at shares of each subject's capacity", Align: "lrrrlrr",
			Head: []string{"subject", "capacity/s", "share", "σ/µ", "limit", "echo p99, ms", "measured"}}
		for _, r := range f.capacities {
			limit := "server"
			switch {
			case r.gaveOut.GeneratorBound:
				limit = "generator"
			case r.gaveOut.Rate == 0:
				limit = "nothing"
			}
			if len(r.shares) == 0 {
				t.Add(r.subject, r.capacity(), format.Absent, format.Absent, limit, format.Absent, "0")
			}
			for _, s := range r.shares {
				t.Add(r.subject, r.capacity(), format.Short(s.percent)+" %", format.Fixed(s.medianOf(variation).Mean, 3), limit, s.medianOf(tailMS).String(), fmt.Sprint(len(s.accepted)))
			}
		}
		tables = append(tables, t)
	}
	return tables
}

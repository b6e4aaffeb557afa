package stream

import (
	"cmp"
	"fmt"
	"maps"
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
		s.Blocks = append(s.Blocks, report.Block{Head: format.Upper(d.capacityGroupName(f))})
		s.Blocks = append(s.Blocks, report.Paragraph("%s", d.capacitySentence(f)), report.Paragraph("%s", d.flatSentence(f)))
		if figures := d.saturationFigures(f); len(figures) > 0 {
			s.Blocks = append(s.Blocks, report.Block{Figures: figures})
		}
		if f.bound() {
			s.Blocks = append(s.Blocks, report.Paragraph("%s The load generator reached its limit before this subject did. The shares are of the generator's limit, so they say little about the subject near its own capacity.", boundMark))
		}
		s.Blocks = append(s.Blocks, report.Block{Table: d.saturationTable(f)}, f.shareNotes(),
			report.Block{Fold: "How the capacities were found", Inside: []report.Block{{Table: d.probesTable(f)}}})
	}
	s.Blocks = slices.DeleteFunc(s.Blocks, func(b report.Block) bool { return b.Table != nil && len(b.Table.Rows) == 0 })
	return s
}

// bound reports whether the generator limited the capacity of a subject.
func (f *capacityGroup) bound() bool {
	return slices.ContainsFunc(f.capacities, func(r *subjectCapacity) bool { return r.gaveOut.GeneratorBound })
}

// mark returns a subject's name, with boundMark if the generator reached its limit first.
func (r *subjectCapacity) mark() string {
	if r.gaveOut.GeneratorBound {
		return r.subject + boundMark
	}
	return r.subject
}

// saturationFigures draws the variation and the tail latency of a capacity group.
func (d digest) saturationFigures(f *capacityGroup) []*figure.Figure {
	tag := fmt.Sprintf("%s-%d-%s", f.load, f.connections, f.pattern)
	var out []*figure.Figure
	for _, c := range []struct {
		name, title string
		axis        figure.Axis
		of          func(result.Saturation) float64
		unit        string
	}{
		{"saturation-variation-" + tag, "Variation of CPU near capacity: ", figure.Axis{Label: "standard deviation / mean of CPU", Zero: true}, variation, ""},
		{"saturation-tail-" + tag, "99th percentile near capacity: ", figure.Axis{Label: "echo p99, ms", Log: true}, tailMS, " ms"},
	} {
		lines := figure.Lines{Name: c.name, Title: c.title + d.capacityGroupName(f), Desc: "One curve for each subject; rings if the load generator reached its limit first.",
			X: figure.Axis{Label: "% of the subject's capacity"}, Y: c.axis}
		for _, r := range f.capacities {
			lines.Curves = append(lines.Curves, r.curve(&lines.X, c.of, c.unit))
		}
		if slices.ContainsFunc(lines.Curves, func(c figure.Curve) bool { return len(c.Points) > 0 }) {
			out = append(out, lines.Draw())
		}
	}
	return out
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
		c.Points = append(c.Points, figure.XY{X: s.percent, Y: e.Mean, Low: e.Low, High: e.High,
			Hover: fmt.Sprintf("%s at %s %%: %s%s, median of %d", r.mark(), format.Short(s.percent), e, unit, e.N)})
	}
	return c
}

func (d digest) saturationTable(f *capacityGroup) *report.Table {
	t := &report.Table{Caption: format.Upper(d.capacityGroupName(f)) + ": at shares of each subject's capacity, medians with the range of all repetitions", Align: "lrrrrrrr",
		Head: []string{"Subject", "Capacity, messages/s", "Share, %", "Repetitions", "CPU, % of a core", "σ/µ", "Echo p50, ms", "Echo p99, ms"}}
	for _, r := range f.capacities {
		for i, s := range r.shares {
			if i == 0 && len(t.Rows) > 0 {
				t.Groups = append(t.Groups, len(t.Rows))
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
	why, wrong := map[string]int{}, map[string]int{}
	for _, r := range f.capacities {
		for _, s := range r.shares {
			all, rejected = all+len(s.accepted)+len(s.rejected), rejected+len(s.rejected)
			tallyReasons(why, s.rejected, func(m result.Saturation) []string { return m.RejectedBecause }, "")
			tallyReasons(wrong, s.accepted, func(m result.Saturation) []string { return m.FailedBecause }, r.subject+" at "+format.Short(s.percent)+" %: ")
		}
	}
	said := fmt.Sprintf("None of %s was rejected.", format.Plural(all, "measurement", "measurements"))
	switch {
	case all == 0:
		said = "No share of a capacity was measured."
	case rejected > 0:
		said = fmt.Sprintf("%s of %s rejected and repeated, up to three times: %s.", format.Count(rejected), format.Plural(all, "measurement was", "measurements were"), formatCounts(why))
	}
	if len(wrong) > 0 {
		said += " Failures of subjects in measurements that count: " + formatCounts(wrong) + "."
	}
	return report.Paragraph("%s", said)
}

// tallyReasons counts reasons by kind, with a prefix.
func tallyReasons(into map[string]int, from []result.Saturation, of func(result.Saturation) []string, before string) {
	for _, m := range from {
		for _, w := range of(m) {
			into[before+report.ReasonKind(w)]++
		}
	}
}

// formatCounts formats reasons with their numbers, the most frequent first.
func formatCounts(why map[string]int) string {
	words := slices.SortedFunc(maps.Keys(why), func(a, b string) int { return cmp.Or(cmp.Compare(why[b], why[a]), cmp.Compare(a, b)) })
	for i, w := range words {
		words[i] = fmt.Sprintf("%s (%d)", w, why[w])
	}
	return strings.Join(words, ", ")
}

// probesTable lists every rate of the search by subject, in the order in which they were tried.
func (d digest) probesTable(f *capacityGroup) *report.Table {
	t := &report.Table{Caption: format.Upper(d.capacityGroupName(f)) + ": every rate that was tried", Align: "lrlrrrrr",
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
		t := &report.Table{Caption: format.Upper(d.capacityGroupName(f)) + ": at shares of each subject's capacity", Align: "lrrrlrr",
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

package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// boundMark follows the name of a subject whose capacity was limited by the generator.
const boundMark = "*"

// saturationSection answers the paper's second question near capacity. It is empty without
// --saturation.
func (d *digest) saturationSection() section {
	s := section{ID: "saturation", Title: "Near saturation",
		How: "The capacity lies between the highest rate that a subject kept up with and the lowest with which it did not. Two subjects with overlapping ranges cannot be ranked. " +
			"Each subject was then measured at shares of its capacity: points are medians, whiskers the range of all repetitions. " +
			"A server is easy to provision if its variation and its tail latency stay flat up to the right edge."}
	for _, f := range d.capacityGroups() {
		s.Blocks = append(s.Blocks, block{Head: upper(d.capacityGroupName(f))})
		s.Blocks = append(s.Blocks, text("%s", d.capacitySentence(f)), text("%s", d.flatSentence(f)))
		if figures := d.saturationFigures(f); len(figures) > 0 {
			s.Blocks = append(s.Blocks, block{Figures: figures})
		}
		if f.bound() {
			s.Blocks = append(s.Blocks, text("%s The load generator reached its limit before this subject did. The shares are of the generator's limit, so they say little about the subject near its own capacity.", boundMark))
		}
		s.Blocks = append(s.Blocks, block{Table: d.saturationTable(f)}, f.shareNotes(),
			block{Fold: "How the capacities were found", Inside: []block{{Table: d.probesTable(f)}}})
	}
	s.Blocks = slices.DeleteFunc(s.Blocks, func(b block) bool { return b.Table != nil && len(b.Table.Rows) == 0 })
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
func (d *digest) saturationFigures(f *capacityGroup) []*figure.Figure {
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
		if !e.known() {
			continue
		}
		if !slices.Contains(x.At, s.percent) {
			x.At = append(x.At, s.percent)
		}
		c.Points = append(c.Points, figure.XY{X: s.percent, Y: e.mean, Low: e.low, High: e.high,
			Hover: fmt.Sprintf("%s at %s %%: %s%s, median of %d", r.mark(), short(s.percent), e, unit, e.n)})
	}
	return c
}

func (d *digest) saturationTable(f *capacityGroup) *table {
	t := &table{Caption: upper(d.capacityGroupName(f)) + ": at shares of each subject's capacity, medians with the range of all repetitions", Align: "lrrrrrrr",
		Head: []string{"Subject", "Capacity, messages/s", "Share, %", "Repetitions", "CPU, % of a core", "σ/µ", "Echo p50, ms", "Echo p99, ms"}}
	for _, r := range f.capacities {
		for i, s := range r.shares {
			if i == 0 && len(t.Rows) > 0 {
				t.Groups = append(t.Groups, len(t.Rows))
			}
			percent, median := s.medianOf(func(m result.Saturation) float64 { return m.CPUPercentMean }), s.medianOf(func(m result.Saturation) float64 { return m.LatencyUS.P50 / 1000 })
			t.add(r.mark(), r.capacity(), short(s.percent), count(len(s.accepted)), sig(percent.mean), s.medianOf(variation).String(), sig(median.mean), s.medianOf(tailMS).String())
		}
	}
	return t
}

// shareNotes says how many measurements were rejected, and which subjects failed in the others.
func (f *capacityGroup) shareNotes() block {
	all, rejected := 0, 0
	why, wrong := map[string]int{}, map[string]int{}
	for _, r := range f.capacities {
		for _, s := range r.shares {
			all, rejected = all+len(s.accepted)+len(s.rejected), rejected+len(s.rejected)
			tallyReasons(why, s.rejected, func(m result.Saturation) []string { return m.RejectedBecause }, "")
			tallyReasons(wrong, s.accepted, func(m result.Saturation) []string { return m.FailedBecause }, r.subject+" at "+short(s.percent)+" %: ")
		}
	}
	said := fmt.Sprintf("None of %s was rejected.", plural(all, "measurement", "measurements"))
	switch {
	case all == 0:
		said = "No share of a capacity was measured."
	case rejected > 0:
		said = fmt.Sprintf("%s of %s rejected and repeated, up to three times: %s.", count(rejected), plural(all, "measurement was", "measurements were"), counted(why))
	}
	if len(wrong) > 0 {
		said += " Failures of subjects in measurements that count: " + counted(wrong) + "."
	}
	return text("%s", said)
}

// tallyReasons counts reasons by kind, with a prefix.
func tallyReasons(into map[string]int, from []result.Saturation, of func(result.Saturation) []string, before string) {
	for _, m := range from {
		for _, w := range of(m) {
			into[before+reasonKind(w)]++
		}
	}
}

// counted formats reasons with their numbers, the most frequent first.
func counted(why map[string]int) string {
	words := slices.SortedFunc(maps.Keys(why), func(a, b string) int { return cmp.Or(cmp.Compare(why[b], why[a]), cmp.Compare(a, b)) })
	for i, w := range words {
		words[i] = fmt.Sprintf("%s (%d)", w, why[w])
	}
	return strings.Join(words, ", ")
}

// probesTable lists every rate of the search by subject, in the order in which they were tried.
func (d *digest) probesTable(f *capacityGroup) *table {
	t := &table{Caption: upper(d.capacityGroupName(f)) + ": every rate that was tried", Align: "lrlrrrrr",
		Head: []string{"Subject", "Messages/s", "Limited by", "Sent", "Lateness p99, ms", "Echo p99, ms", "Server, % of a core", "Generator, % of a core"}}
	for _, p := range d.Probes {
		if p.Load != f.load || p.Connections != f.connections || p.Pattern != f.pattern {
			continue
		}
		server := p.CPUPercentMean
		if d.elsewhere(p.Subject) {
			server = math.NaN()
		}
		t.add(p.Subject, rough(p.Rate), gaveOut(p), percent(p.AchievedRatio), sig(p.LatenessP99US/1000), sig(p.LatencyP99US/1000), sig(server), sig(p.LoadPercent))
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

package stream

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// capacityGroup holds the capacities for one load, number of connections and arrival pattern.
type capacityGroup struct {
	load        string
	connections int
	pattern     string
	name        string             // for readers: "64 connections, Poisson"
	capacities  []*subjectCapacity // highest capacity first
}

// subjectCapacity holds a subject's capacity and the measurements at shares of it.
type subjectCapacity struct {
	subject       string
	index         int          // of the subject, for its colour
	kept, gaveOut result.Probe // highest rate kept up with, lowest not kept up with
	shares        []*share     // ascending
}

// share holds the measurements at one share of a subject's capacity.
type share struct {
	percent  float64
	accepted []result.Saturation
	rejected []result.Saturation
}

// capacityGroups groups the probes and measurements, in the order of the search.
func (d digest) capacityGroups() []*capacityGroup {
	var out []*capacityGroup
	for _, p := range d.Probes {
		d.capacityOf(&out, p.Subject, p.Load, p.Connections, p.Pattern)
	}
	for _, m := range d.Saturation {
		d.capacityOf(&out, m.Subject, m.Load, m.Connections, m.Pattern).add(m, d.Elsewhere(m.Subject))
	}
	for _, f := range out {
		slices.SortStableFunc(f.capacities, func(a, b *subjectCapacity) int { return cmp.Compare(b.kept.Rate, a.kept.Rate) })
	}
	return out
}

// capacityOf returns the capacity of a subject, which it adds to the groups if it is not there.
func (d digest) capacityOf(groups *[]*capacityGroup, subject, load string, connections int, pattern string) *subjectCapacity {
	i := slices.IndexFunc(*groups, func(f *capacityGroup) bool {
		return f.load == load && f.connections == connections && f.pattern == pattern
	})
	if i < 0 {
		i = len(*groups)
		name := format.Connections(connections) + ", " + format.Pattern(pattern)
		if len(d.Plan.Loads) > 1 {
			name += ", load " + load
		}
		*groups = append(*groups, &capacityGroup{load: load, connections: connections, pattern: pattern, name: name})
	}
	f := (*groups)[i]
	k := slices.IndexFunc(f.capacities, func(r *subjectCapacity) bool { return r.subject == subject })
	if k < 0 {
		k = len(f.capacities)
		r := &subjectCapacity{subject: subject, index: max(0, slices.Index(d.Names, subject))}
		r.kept, r.gaveOut = d.Bracket(subject, load, connections, pattern)
		f.capacities = append(f.capacities, r)
	}
	return f.capacities[k]
}

// add adds a measurement to its share. The CPU of a subject elsewhere is unknown.
func (r *subjectCapacity) add(m result.Saturation, elsewhere bool) {
	if elsewhere {
		m.CPUCV, m.CPUPercentMean = math.NaN(), math.NaN()
	}
	i, found := slices.BinarySearchFunc(r.shares, m.SharePercent, func(s *share, percent float64) int { return cmp.Compare(s.percent, percent) })
	if !found {
		r.shares = slices.Insert(r.shares, i, &share{percent: m.SharePercent})
	}
	if m.Accepted {
		r.shares[i].accepted = append(r.shares[i].accepted, m)
	} else {
		r.shares[i].rejected = append(r.shares[i].rejected, m)
	}
}

// capacity formats the range of a subject's capacity: "84,000 to 88,000", "at least 120,000".
func (r *subjectCapacity) capacity() string {
	switch {
	case r.kept.Rate == 0 && (r.gaveOut.Rate == 0 || r.gaveOut.GeneratorBound):
		return "not found"
	case r.kept.Rate == 0:
		return "under " + rough(r.gaveOut.Rate)
	case r.gaveOut.Rate == 0 || r.gaveOut.GeneratorBound:
		return "at least " + rough(r.kept.Rate)
	}
	return rough(r.kept.Rate) + " to " + rough(r.gaveOut.Rate)
}

// rough formats a rate rounded to three significant digits.
func rough(rate float64) string {
	if !(rate >= 1000 && rate < 1e15) {
		return format.Sig(rate)
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-2)
	return format.Sig(math.Round(rate/unit) * unit)
}

// medianOf returns the median of a share's repetitions as the mean, with the range of all as the
// interval. It is NaN without any.
func (s *share) medianOf(of func(result.Saturation) float64) report.Estimate {
	var v []float64
	for _, m := range s.accepted {
		if x := of(m); !math.IsNaN(x) && !math.IsInf(x, 0) {
			v = append(v, x)
		}
	}
	e := report.Estimate{Mean: report.MedianOf(v), Low: math.NaN(), High: math.NaN(), N: len(v)}
	if len(v) > 0 {
		e.Low, e.High = slices.Min(v), slices.Max(v)
	}
	return e
}

// variation is the coefficient of variation of a measurement's CPU.
func variation(m result.Saturation) float64 {
	if m.CPUCV == 0 {
		return math.NaN() // too few windows
	}
	return m.CPUCV
}

// tailMS is the 99th percentile of a measurement's latency in ms.
func tailMS(m result.Saturation) float64 { return m.LatencyUS.P99 / 1000 }

// growth is the change of a figure from a subject's lowest share to its highest.
type growth int

const (
	unknown growth = iota // fewer than three repetitions at either end
	flat                  // the ranges at both ends overlap, or the figure fell
	grew                  // every repetition at the highest share is above every one at the lowest
)

// growth compares a figure at the lowest and the highest share.
func (r *subjectCapacity) growth(of func(result.Saturation) float64) (g growth, from, to report.Estimate) {
	if len(r.shares) < 2 {
		return unknown, from, to
	}
	from, to = r.shares[0].medianOf(of), r.shares[len(r.shares)-1].medianOf(of)
	switch {
	case from.N < 3 || to.N < 3:
		return unknown, from, to
	case to.Low > from.High:
		return grew, from, to
	}
	return flat, from, to
}

// capacityAnswer is the answer of a run with shares of capacity, for the capacity group with the
// most connections. There is a probe.
func (d digest) capacityAnswer() report.Answer {
	all := d.capacityGroups()
	f := slices.MaxFunc(all, func(a, b *capacityGroup) int { return cmp.Compare(a.connections, b.connections) })
	flat := d.flatSentence(f)
	if n := len(all) - 1; n > 0 {
		flat += fmt.Sprintf(" The section Near saturation has %s.", format.Plural(n, "more cell", "more cells"))
	}
	return report.Answer{Sentences: []string{d.capacitySentence(f), flat},
		How: "Capacities are ranges. Brackets contain the medians at the lowest and the highest share. A figure \"grew\" only if every repetition at the highest share is above every one at the lowest."}
}

// capacitySentence states the capacity of each subject in a capacity group.
func (d digest) capacitySentence(f *capacityGroup) string {
	var said []string
	for _, r := range f.capacities {
		s := r.subject + " " + r.capacity()
		switch {
		case r.gaveOut.GeneratorBound:
			s += " (limit of the load generator)"
		case r.gaveOut.Rate == 0:
			s += " (highest rate tried)"
		}
		said = append(said, s)
	}
	return fmt.Sprintf("With %s, on %s, the capacity in messages/s echoed in time was: %s.",
		f.name, format.Plural(len(d.Plan.ServerCPUs), "core", "cores"), format.List(said))
}

// flatSentence says for which subjects variation and tail latency grow towards the capacity.
func (d digest) flatSentence(f *capacityGroup) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range f.capacities {
		for _, s := range r.shares {
			low, high = min(low, s.percent), max(high, s.percent)
		}
	}
	if !(low < high) {
		return "Their steadiness near it is not known: that takes measurements at two shares of it."
	}
	return fmt.Sprintf("From %s to %s %% of it, the variation of CPU (σ/µ) %s; the 99th percentile of the echoes %s.",
		format.Short(low), format.Short(high), f.growthPhrase(variation, ""), f.growthPhrase(tailMS, " ms"))
}

// growthPhrase is "did not measurably grow for a and grew for b (0.020 to 0.051)".
func (f *capacityGroup) growthPhrase(of func(result.Saturation) float64, unit string) string {
	by := map[growth][]string{}
	for _, r := range f.capacities {
		g, from, to := r.growth(of)
		s := r.subject
		if g == grew {
			s += fmt.Sprintf(" (%s to %s%s)", format.Sig(from.Mean), format.Sig(to.Mean), unit)
		}
		by[g] = append(by[g], s)
	}
	var parts []string
	for _, g := range []growth{flat, grew, unknown} {
		if len(by[g]) > 0 {
			parts = append(parts, [...]string{unknown: "has too few measurements", flat: "did not measurably grow", grew: "grew"}[g]+" for "+format.List(by[g]))
		}
	}
	return strings.Join(parts, " and ")
}

// capacityCaveats lists the subjects that the generator limited, those whose search was disturbed,
// and the number of rejected measurements.
func (d digest) capacityCaveats() []string {
	var out []string
	for _, f := range d.capacityGroups() {
		var names, disturbed []string
		for _, r := range f.capacities {
			if r.kept.Rate > 0 && r.gaveOut.GeneratorBound {
				names = append(names, r.subject)
			}
			if len(r.gaveOut.DisturbedBy) > 0 {
				disturbed = append(disturbed, fmt.Sprintf("%s (%s)", r.subject, strings.Join(r.gaveOut.DisturbedBy, "; ")))
			}
		}
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: the load generator reached its limit before %s did. The capacity is at least the stated one, and the shares are of the generator's limit.", format.Upper(f.name), format.List(names)))
		}
		if len(disturbed) > 0 {
			out = append(out, fmt.Sprintf("%s: the search for the capacity was disturbed in every attempt for %s. It may be higher than stated.", format.Upper(f.name), format.List(disturbed)))
		}
	}
	rejected := slices.DeleteFunc(slices.Clone(d.Saturation), func(m result.Saturation) bool { return m.Accepted })
	if len(rejected) > 0 {
		out = append(out, fmt.Sprintf("Of %s at shares of the capacity, %s rejected; the section Near saturation has the reasons.", format.Plural(len(d.Saturation), "measurement", "measurements"), format.Plural(len(rejected), "was", "were")))
	}
	return out
}

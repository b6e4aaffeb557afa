package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/lab/result"
)

// field is what a run with shares of capacity found under one load with one number of connections
// and one arrival pattern.
type field struct {
	load        string
	connections int
	pattern     string
	reaches     []*reach // highest capacity first
}

// reach is how far a subject gets in a field, and how it behaves on the way.
type reach struct {
	subject       string
	index         int // of the subject, for its colour
	kept, gaveOut result.Probe
	shares        []*share // ascending
}

// share is the measurements at one share of a subject's capacity.
type share struct {
	percent  float64
	accepted []result.Saturation
	refused  []result.Saturation
}

// fields arranges probes and measurements, fields in the order in which they were searched.
func (d *digest) fields() []*field {
	var out []*field
	reachOf := func(subject, load string, connections int, pattern string) *reach {
		i := slices.IndexFunc(out, func(f *field) bool { return f.load == load && f.connections == connections && f.pattern == pattern })
		if i < 0 {
			i = len(out)
			out = append(out, &field{load: load, connections: connections, pattern: pattern})
		}
		f := out[i]
		for _, r := range f.reaches {
			if r.subject == subject {
				return r
			}
		}
		r := &reach{subject: subject, index: max(0, slices.Index(d.subjects, subject))}
		r.kept, r.gaveOut = d.Bracket(subject, load, connections, pattern)
		f.reaches = append(f.reaches, r)
		return r
	}
	for _, p := range d.Probes {
		reachOf(p.Subject, p.Load, p.Connections, p.Pattern)
	}
	for _, m := range d.Saturation {
		reachOf(m.Subject, m.Load, m.Connections, m.Pattern).add(m, d.elsewhere(m.Subject))
	}
	for _, f := range out {
		slices.SortStableFunc(f.reaches, func(a, b *reach) int { return cmp.Compare(b.kept.Rate, a.kept.Rate) })
	}
	return out
}

func (r *reach) add(m result.Saturation, elsewhere bool) {
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
		r.shares[i].refused = append(r.shares[i].refused, m)
	}
}

// capacity is where a subject's capacity lies: "84,000 to 88,000", "at least 120,000".
func (r *reach) capacity() string {
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

// rough writes a rate with three significant digits.
func rough(rate float64) string {
	if !(rate >= 1000 && rate < 1e15) {
		return sig(rate)
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-2)
	return sig(math.Round(rate/unit) * unit)
}

// spot is the median of a share's repetitions with the range of all of them. Mean is NaN when there
// is none.
func (s *share) spot(of func(result.Saturation) float64) estimate {
	var v []float64
	for _, m := range s.accepted {
		if x := of(m); !math.IsNaN(x) && !math.IsInf(x, 0) {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return estimate{mean: math.NaN(), low: math.NaN(), high: math.NaN()}
	}
	return estimate{mean: middle(v), low: slices.Min(v), high: slices.Max(v), n: len(v)}
}

// What a share is judged by.
func variation(m result.Saturation) float64 {
	if m.CPUCV == 0 {
		return math.NaN() // too few windows
	}
	return m.CPUCV
}
func tailMS(m result.Saturation) float64 { return m.LatencyUS.P99 / 1000 }

// growth is how a figure changes from a subject's lowest share to its highest.
type growth int

const (
	unknown growth = iota // under three repetitions at either end
	flat                  // not shown to grow
	grew                  // each repetition at the highest share is above each at the lowest
)

func (r *reach) growth(of func(result.Saturation) float64) (g growth, from, to estimate) {
	if len(r.shares) < 2 {
		return unknown, from, to
	}
	from, to = r.shares[0].spot(of), r.shares[len(r.shares)-1].spot(of)
	switch {
	case from.n < 3 || to.n < 3:
		return unknown, from, to
	case to.low > from.high:
		return grew, from, to
	}
	return flat, from, to
}

// saturationAnswer is the two sentences of a run with shares of capacity. They tell of the field
// with the most connections.
func (d *digest) saturationAnswer() []string {
	all := d.fields()
	f := slices.MaxFunc(all, func(a, b *field) int { return cmp.Compare(a.connections, b.connections) })
	out := []string{d.capacitySentence(f), d.flatSentence(f)}
	if n := len(all) - 1; n > 0 {
		out[1] += fmt.Sprintf(" The section Near saturation tells of %s beside this.", plural(n, "cell", "cells"))
	}
	return out
}

// answerHow says how to read the answer.
func (d *digest) answerHow() string {
	if len(d.Trials) == 0 && len(d.Probes) > 0 {
		return "Capacities are ranges; brackets hold the medians at the lowest and the highest share. A figure \"grew\" only where every repetition at the highest share is above every one at the lowest."
	}
	return "Means over accepted trials; numbers in brackets are 95 % intervals. Two subjects \"differ\" only where a comparison, corrected for how many were made, says so."
}

func (d *digest) capacitySentence(f *field) string {
	var said []string
	for _, r := range f.reaches {
		s := r.subject + " " + r.capacity()
		switch {
		case r.gaveOut.GeneratorBound:
			s += " (there the load generator gave out)"
		case r.gaveOut.Rate == 0:
			s += " (nothing gave out as far as it was tried)"
		}
		said = append(said, s)
	}
	return fmt.Sprintf("With %s, on %s, the capacity in messages/s that are echoed in time was: %s.",
		d.fieldName(f), plural(len(d.Plan.ServerCPUs), "core", "cores"), list(said))
}

// fieldName is "64 connections, Poisson".
func (d *digest) fieldName(f *field) string {
	s := conns(f.connections) + ", " + patternName(f.pattern)
	if len(d.Plan.Loads) > 1 {
		s += ", load " + f.load
	}
	return s
}

// flatSentence says whose variation and tail stay flat towards capacity, and whose grow.
func (d *digest) flatSentence(f *field) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range f.reaches {
		for _, s := range r.shares {
			low, high = min(low, s.percent), max(high, s.percent)
		}
	}
	if !(low < high) {
		return "How steady they are near it was not measured at two shares of it, so nothing can be said of that."
	}
	return fmt.Sprintf("From %s to %s %% of it, the variation of CPU (σ/µ) %s; the 99th percentile of the echoes %s.",
		short(low), short(high), f.growthPhrase(variation, ""), f.growthPhrase(tailMS, " ms"))
}

// growthPhrase is "stayed flat, or was not shown to grow, for a; grew for b (0.020 to 0.051)".
func (f *field) growthPhrase(of func(result.Saturation) float64, unit string) string {
	by := map[growth][]string{}
	for _, r := range f.reaches {
		g, from, to := r.growth(of)
		s := r.subject
		if g == grew {
			s += fmt.Sprintf(" (%s to %s%s)", sig(from.mean), sig(to.mean), unit)
		}
		by[g] = append(by[g], s)
	}
	var parts []string
	for _, p := range []struct {
		g    growth
		text string
	}{{flat, "was not shown to grow for "}, {grew, "grew for "}, {unknown, "was measured too seldom for "}} {
		if len(by[p.g]) > 0 {
			parts = append(parts, p.text+list(by[p.g]))
		}
	}
	return strings.Join(parts, " and ")
}

// refusedShares counts the measurements that do not count.
func (d *digest) refusedShares() (n int) {
	for _, m := range d.Saturation {
		if !m.Accepted {
			n++
		}
	}
	return n
}

// capacityCaveats says whose shares are of what the generator could offer, whose search was
// disturbed, and how many measurements were refused.
func (d *digest) capacityCaveats() []string {
	var out []string
	for _, f := range d.fields() {
		var names, disturbed []string
		for _, r := range f.reaches {
			if r.kept.Rate > 0 && r.gaveOut.GeneratorBound {
				names = append(names, r.subject)
			}
			if len(r.gaveOut.DisturbedBy) > 0 {
				disturbed = append(disturbed, fmt.Sprintf("%s (%s)", r.subject, strings.Join(r.gaveOut.DisturbedBy, "; ")))
			}
		}
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: the load generator gave out before %s did. The capacity is at least what stands here, and the shares are of what the generator could offer.", upper(d.fieldName(f)), list(names)))
		}
		if len(disturbed) > 0 {
			out = append(out, fmt.Sprintf("%s: the search for the capacity was disturbed at every try for %s. It may be higher than what stands here.", upper(d.fieldName(f)), list(disturbed)))
		}
	}
	if n := d.refusedShares(); n > 0 {
		out = append(out, fmt.Sprintf("%d of %s at shares of capacity do not count, because they were refused; the reasons stand under Near saturation.", n, plural(len(d.Saturation), "measurement", "measurements")))
	}
	return out
}

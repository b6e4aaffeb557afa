// Package compare says which subjects of a run differ, and by how much, from the trials in its
// results.
//
// The arithmetic is lab/stat's; this package knows which trials stand against which. Only accepted
// trials count. Subjects are compared under the same load, number of connections and arrival
// pattern, block by block.
//
// # How many comparisons are counted
//
// Ask enough questions and noise will answer one of them "different". The p of a comparison, and so
// its verdict, is corrected (Holm) over its family: all comparisons of the run in the same metric,
// those of all loads, numbers of connections and patterns together, the twin's included. At most
// one run in 20 may hold even one false "different" in CPU per message, at most one in 20 in its
// variation, and at most one in 20 in the requests a second of closed loops, which are compared
// there alone: the answers set their pace. The same holds for the mean time of operations on TCP/IP
// stacks. So verdicts of several cells may be joined in one sentence, as where the order of two
// subjects turns with the pattern. Comparisons without an interval test nothing and are not
// counted.
//
// Each comparison has two intervals: an ordinary one of 95 %, and the one that its verdict rests
// on, corrected in the same way. Reports show the second: it says the same as the word beside it.
//
// # Variation
//
// The variation of CPU is compared by the windows of all trials pooled (lab/stat, Spread), cut from
// the trials' samples; a subject with too few of them is "too short to tell".
//
// # The twin
//
// One subject may have run twice under two names, NAME and NAME+twin. The twin is compared with its
// original alone, and the comparison marked; as a subject of its own it appears nowhere.
//
// # Limitations
//
// Trials whose CPU was not measured (subjects elsewhere) are not compared.
package compare

import (
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// metricsOf is what is compared in a cell, the main one first. Where every subject is offered the
// same rate there is none to compare. Of stacks the variation of CPU is none: how much they do is
// not set.
func metricsOf(c cell, trials map[string][]*result.Trial) []string {
	if s := onStack(trials); s != nil {
		return metricsOnStack(c, s)
	}
	if c.pattern == result.Closed {
		return []string{result.MetricCPU, result.MetricCV, result.MetricRate}
	}
	return []string{result.MetricCPU, result.MetricCV}
}

// defaultMargin is used when the plan states none.
const defaultMargin = 0.05

// All compares all pairs of subjects of a finished or unfinished run within each load, number of
// connections and pattern, in the plan's order. Pairs that never met in a cell are left out.
func All(r *result.Results) []result.Comparison {
	var all families
	for _, c := range cells(r) {
		trials := c.trials(r)
		for _, metric := range metricsOf(c, trials) {
			for _, p := range pairs(subjects(r)) {
				if a, b := trials[p.a], trials[p.b]; len(a) > 0 && len(b) > 0 {
					all.add(c.comparison(p.a, p.b, metric), within(metric, a, b, r.Plan.WindowMS))
				}
			}
		}
	}
	return all.judged(margin(r))
}

// within compares two subjects that ran in the same blocks.
func within(metric string, a, b []*result.Trial, windowMS float64) stat.Estimate {
	switch metric {
	case result.MetricCV:
		return stat.SpreadRatio(Records(a), Records(b), windowMS)
	case result.MetricRate:
		return stat.Ratio(rates(a), rates(b))
	case result.MetricLatency:
		return stat.Ratio(latencies(a), latencies(b))
	}
	return stat.Ratio(costs(a), costs(b))
}

// families is comparisons that are not judged yet. Those in one metric are a family.
type families struct {
	found     []result.Comparison
	estimates []stat.Estimate
}

func (f *families) add(c result.Comparison, e stat.Estimate) {
	f.found, f.estimates = append(f.found, c), append(f.estimates, e)
}

// judged fills in the figures and words, in the order in which they were added. Warnings that stand
// already stay, after the estimates' own.
func (f *families) judged(margin float64) []result.Comparison {
	members := map[string][]int{}
	for i, c := range f.found {
		members[c.Metric] = append(members[c.Metric], i)
	}
	for _, family := range members {
		estimates := make([]stat.Estimate, len(family))
		for k, i := range family {
			estimates[k] = f.estimates[i]
		}
		for k, v := range stat.Judge(estimates, margin) {
			e, c := estimates[k], &f.found[family[k]]
			c.Ratio, c.Low, c.High, c.Pairs = e.Ratio, e.Low, e.High, e.Blocks
			c.P, c.Verdict, c.Warning = v.P, v.Word, join(v.Warning, c.Warning)
			c.VerdictLow, c.VerdictHigh = v.Low, v.High
		}
	}
	return f.found
}

func margin(r *result.Results) float64 {
	if r.Plan.Margin > 0 {
		return r.Plan.Margin
	}
	return defaultMargin
}

// A pair is two names that are compared.
type pair struct{ a, b string }

// pairs is every two subjects, in their order, and each subject with its twin.
func pairs(names []string) []pair {
	var ps []pair
	for i, a := range names {
		for _, b := range names[i+1:] {
			ps = append(ps, pair{a, b})
		}
	}
	for _, a := range names {
		ps = append(ps, pair{a, a + result.TwinSuffix})
	}
	return ps
}

// subjects is the names in the run without twins: as listed, then any that only trials name.
func subjects(r *result.Results) []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] && !isTwin(name) {
			names = append(names, name)
		}
		seen[name] = true
	}
	for _, s := range r.Subjects {
		add(s.Name)
	}
	for i := range r.Trials {
		add(r.Trials[i].Subject)
	}
	return names
}

func isTwin(name string) bool { return strings.HasSuffix(name, result.TwinSuffix) }

// Package compare says which subjects of a run differ, and by how much, from the trials in its results.
//
// The arithmetic is lab/stat's; this package knows which trials stand against which. Only accepted trials
// count. Subjects are compared under the same load, number of connections and arrival pattern, block by block.
//
// # How many comparisons are counted
//
// Ask enough questions and noise will answer one of them "different". The p of a comparison, and so its
// verdict, is corrected (Holm) over its family: all pairs of subjects, the twin's included, in the same
// metric under the same load, number of connections and pattern. At most one table of such a family in
// 20 may hold a false "different". The correction does not reach over several tables: a run of nine cells may
// be expected to hold a false one in some table about twice in five runs at worst, and much less often than that in
// the simulations of lab/stat. CPU per message and its variation are families of their own.
//
// # The twin
//
// One subject may have run twice under two names, NAME and NAME+twin. The twin is compared with its
// original alone, and the comparison marked; as a subject of its own it appears nowhere.
//
// # Limitations
//
// Intervals are not corrected, only p is: an interval that just excludes 1 can stand beside
// "undecided". Trials whose CPU was not measured (subjects elsewhere) are not compared.
package compare

import (
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// The metrics that are compared.
const (
	CPU       = "cpu_us_per_message"
	Variation = "cpu_cv"
)

// metrics gives the value of each metric in a trial.
var metrics = []struct {
	name string
	of   func(*result.Trial) float64
}{
	{CPU, func(t *result.Trial) float64 { return t.CPUUSPerMessage }},
	{Variation, func(t *result.Trial) float64 { return t.CPUCV }},
}

// defaultMargin is used when the plan states none.
const defaultMargin = 0.05

// All compares all pairs of subjects of a finished or unfinished run within each load, number of
// connections and pattern, in the plan's order. Pairs that never met in a cell are left out.
func All(r *result.Results) []result.Comparison {
	var all []result.Comparison
	for _, c := range cells(r) {
		for _, m := range metrics {
			all = append(all, family(r, c, m.name, m.of)...)
		}
	}
	return all
}

// family compares the pairs of one cell in one metric, and corrects for their number.
func family(r *result.Results, c cell, metric string, of func(*result.Trial) float64) []result.Comparison {
	trials := c.trials(r, of)
	var found []result.Comparison
	var estimates []stat.Estimate
	for _, p := range pairs(subjects(r)) {
		a, b := trials[p.a], trials[p.b]
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		found = append(found, c.comparison(p.a, p.b, metric))
		estimates = append(estimates, stat.Ratio(a, b))
	}
	judge(found, estimates, margin(r))
	return found
}

// judge fills in the figures and words of a family.
func judge(family []result.Comparison, estimates []stat.Estimate, margin float64) {
	for i, v := range stat.Judge(estimates, margin) {
		e, c := estimates[i], &family[i]
		c.Ratio, c.Low, c.High, c.Pairs = e.Ratio, e.Low, e.High, e.Blocks
		c.P, c.Verdict, c.Warning = v.P, v.Word, v.Warning
	}
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

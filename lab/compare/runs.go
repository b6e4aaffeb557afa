package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// notInterleaved is the warning on every plain comparison of two runs.
const notInterleaved = "the runs were not interleaved: drift of the machine between them is part of this ratio"

// Runs compares each common subject of two runs with itself, in each common cell. The ratio is a's
// figure over b's. The runs were not interleaved, so each of these comparisons has a warning. Where
// possible there is a second comparison, under the metric "cpu_us_per_message/REFERENCE": the
// subject's CPU relative to a reference subject's in the same block. A change in the speed of the
// whole machine cancels in it. The reference is the floor if both runs have one, else their first
// common subject.
//
// The reference may be given; it must be a subject of both runs. The error says why nothing can be
// compared.
func (k Kind) Runs(a, b *result.Results, reference string) ([]result.Comparison, error) {
	names := common(subjects(a), subjects(b))
	if len(names) == 0 {
		return nil, fmt.Errorf("the runs have no subject in common: A has %s, B has %s", list(subjects(a)), list(subjects(b)))
	}
	shared := common(cells(a), cells(b))
	if len(shared) == 0 {
		return nil, fmt.Errorf("the runs have no load in common: A has %s, B has %s; run both with the same connections and patterns", list(cells(a)), list(cells(b)))
	}
	if err := k.sameLoads(a, b, shared); err != nil {
		return nil, err
	}
	if reference == "" {
		reference = chooseReference(a, names)
	} else if !slices.Contains(names, reference) {
		return nil, fmt.Errorf("the reference %q is not in both runs: choose among %s", reference, list(names))
	}
	t := twoRuns{kind: k, a: a, b: b, names: names, reference: reference, warning: runWarning(a, b)}
	for _, c := range shared {
		t.cell(c)
	}
	all := t.withVerdicts(margin(a))
	if len(all) == 0 {
		return nil, errors.New("no subject has accepted trials under the same load in both runs: see the rejected trials in their reports, and run again on a quieter machine")
	}
	return all, nil
}

// sameLoads returns an error if the runs have different loads under the same name.
func (k Kind) sameLoads(a, b *result.Results, shared []cell) error {
	if a.Plan.Workload != b.Plan.Workload {
		return fmt.Errorf("the workload was %s in A and %s in B: costs of different work cannot be compared", a.Plan.Workload, b.Plan.Workload)
	}
	for _, c := range shared {
		al, bl := loadOf(a, c.load), loadOf(b, c.load)
		if al != bl {
			return fmt.Errorf("the load %q was %s in A and %s in B: run both with the same", c.load, k.Describe(al), k.Describe(bl))
		}
	}
	return nil
}

func loadOf(r *result.Results, name string) result.Load {
	i := slices.IndexFunc(r.Plan.Loads, func(l result.Load) bool { return l.Name == name })
	if i < 0 {
		return result.Load{Name: name}
	}
	return r.Plan.Loads[i]
}

func chooseReference(r *result.Results, names []string) string {
	for _, s := range r.Subjects {
		if s.Paradigm == "floor" && slices.Contains(names, s.Name) {
			return s.Name
		}
	}
	return names[0]
}

// twoRuns collects the comparisons of two runs.
type twoRuns struct {
	families
	kind      Kind
	a, b      *result.Results
	names     []string // of the common subjects
	reference string
	warning   string // for ratios that include drift between the runs
}

// cell compares the common subjects in one cell. The windows of both runs' variation have the
// length of the first run's.
func (t *twoRuns) cell(c cell) {
	at, bt := c.trials(t.a), c.trials(t.b)
	names := keep(t.names, func(name string) bool { return len(at[name]) > 0 && len(bt[name]) > 0 })
	add := func(name, metric, warning string, e stat.Estimate) {
		found := c.comparison(name, name, metric)
		found.Warning = warning
		t.add(found, e)
	}
	for _, name := range names {
		add(name, result.MetricCPU, t.warning, stat.UnpairedRatio(costs(at[name]), costs(bt[name])))
	}
	if slices.Contains(names, t.reference) {
		aRef, bRef := costs(at[t.reference]), costs(bt[t.reference])
		for _, name := range names {
			if name != t.reference {
				add(name, result.MetricCPU+"/"+t.reference, "", stat.UnpairedRelativeRatio(costs(at[name]), aRef, costs(bt[name]), bRef))
			}
		}
	}
	metrics := t.kind.metrics(c, at)
	for _, metric := range []string{result.MetricRate, result.MetricLatency, result.MetricCV} {
		if !slices.Contains(metrics, metric) {
			continue
		}
		for _, name := range names {
			add(name, metric, t.warning, t.kind.unpairedEstimate(metric, at[name], bt[name], t.a.Plan.WindowMS))
		}
	}
}

// unpairedEstimate compares a subject's trials in two runs in one metric.
func (k Kind) unpairedEstimate(metric string, a, b []*result.Trial, windowMS float64) stat.Estimate {
	if metric == result.MetricCV {
		return stat.UnpairedCVRatio(SampledTrials(a), SampledTrials(b), windowMS)
	}
	of := k.value(metric)
	return stat.UnpairedRatio(valuesOf(a, of), valuesOf(b, of))
}

// runWarning returns the warning on every plain comparison of the two runs.
func runWarning(a, b *result.Results) string {
	am, bm := a.Machine, b.Machine
	if am.CPU == bm.CPU && am.Cores == bm.Cores && am.Kernel == bm.Kernel && slices.Equal(a.Plan.ServerCPUs, b.Plan.ServerCPUs) {
		return notInterleaved
	}
	return notInterleaved + ", and so is the difference in machine, kernel or cores of the server"
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// common returns the elements of a that are in b too, in a's order.
func common[T comparable](a, b []T) []T {
	return keep(a, func(x T) bool { return slices.Contains(b, x) })
}

func keep[T any](list []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !wanted(x) })
}

// list joins the first few things for an error message.
func list[T any](things []T) string {
	const most = 6
	var s []string
	for i, x := range things {
		if i == most {
			s = append(s, fmt.Sprintf("%d more", len(things)-most))
			break
		}
		s = append(s, fmt.Sprint(x))
	}
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, ", ")
}

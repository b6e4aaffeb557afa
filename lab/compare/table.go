package compare

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// WriteRuns writes the comparisons that Runs returned for a and b as text: first the verdicts, then
// a table of the figures for each cell. The names identify the runs, usually by their directories.
// Errors are those of w.
func (k Kind) WriteRuns(w io.Writer, aName, bName string, a, b *result.Results, found []result.Comparison) error {
	t := runsTable{kind: k, w: bufio.NewWriter(w), a: a, b: b}
	fmt.Fprintf(t.w, "A  %s (%s)\nB  %s (%s)\n", aName, summary(a), bName, summary(b))
	t.summarize(found)
	fmt.Fprintf(t.w, "\nA / B over 1: A used more%s. 95 %% confidence intervals and p have Holm's correction over all comparisons in their metric.\n", k.OrMeans)
	fmt.Fprintf(t.w, "Caution: %s.\n", runWarning(a, b))
	for _, c := range found {
		t.line(c)
	}
	t.endCell()
	return t.w.Flush()
}

// summary identifies a run by its experiment and start time.
func summary(r *result.Results) string {
	s := fmt.Sprintf("%s, %s", r.Experiment, r.Started.UTC().Format("2006-01-02 15:04 UTC"))
	if r.Finished.IsZero() {
		s += ", unfinished"
	}
	return s
}

// runsTable writes comparisons as tables, one per cell and metric, with notes after those of a
// cell.
type runsTable struct {
	kind   Kind
	w      *bufio.Writer
	a, b   *result.Results
	cell   cell
	metric string
	notes  []string // of the cell, numbered from 1
}

// summarize writes the verdicts of each metric, with subjects of the same verdicts on one line.
func (t *runsTable) summarize(found []result.Comparison) {
	for _, metric := range distinct(found, func(c result.Comparison) string { return c.Metric }) {
		of := keep(found, func(c result.Comparison) bool { return c.Metric == metric })
		var phrases []string
		subjects := map[string][]string{}
		for _, name := range distinct(of, func(c result.Comparison) string { return c.A }) {
			phrase := t.phrase(keep(of, func(c result.Comparison) bool { return c.A == name }))
			if subjects[phrase] == nil {
				phrases = append(phrases, phrase)
			}
			subjects[phrase] = append(subjects[phrase], name)
		}
		fmt.Fprintf(t.w, "\n%s\n", t.heading(metric))
		for _, phrase := range phrases {
			fmt.Fprintf(t.w, "  %s: %s\n", strings.Join(subjects[phrase], ", "), phrase)
		}
	}
}

// distinct returns the keys of the comparisons, each once, in the order of their first use.
func distinct(found []result.Comparison, key func(result.Comparison) string) []string {
	var keys []string
	for _, c := range found {
		if k := key(c); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// phrase counts the verdicts of one subject in one metric over the cells: "A lower in 2 of 3 cells
// (A / B 0.766 to 0.773), undecided in 1".
func (t *runsTable) phrase(of []result.Comparison) string {
	verdicts := []struct {
		text   string
		has    func(result.Comparison) bool
		ratios bool
	}{
		{"A lower", func(c result.Comparison) bool { return c.Verdict == result.Different && c.Ratio < 1 }, true},
		{"A higher", func(c result.Comparison) bool { return c.Verdict == result.Different && c.Ratio >= 1 }, true},
		{t.equivalent(), func(c result.Comparison) bool { return c.Verdict == result.Equivalent }, false},
		{result.Undecided, func(c result.Comparison) bool { return c.Verdict == result.Undecided }, false},
	}
	var parts []string
	for _, v := range verdicts {
		group := keep(of, v.has)
		if len(group) == 0 {
			continue
		}
		part := fmt.Sprintf("%s in %d", v.text, len(group))
		if len(parts) == 0 {
			part += fmt.Sprintf(" of %d cell%s", len(of), map[bool]string{true: "s"}[len(of) != 1])
		}
		if v.ratios {
			part += " (A / B " + ratioRange(group) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// ratioRange returns the smallest and the largest ratio of comparisons: "0.766 to 0.773".
func ratioRange(of []result.Comparison) string {
	ratios := make([]float64, len(of))
	for i, c := range of {
		ratios[i] = c.Ratio
	}
	low, high := fixed3(slices.Min(ratios)), fixed3(slices.Max(ratios))
	if low == high {
		return low
	}
	return low + " to " + high
}

// line writes one comparison, and the heading of its table before the first.
func (t *runsTable) line(c result.Comparison) {
	if at := (cell{c.Load, c.Connections, c.Pattern}); at != t.cell || t.metric == "" {
		t.endCell()
		t.cell = at
		fmt.Fprintf(t.w, "\n%s\n", at)
	}
	const format = "  %-24s %-26s %6s  %-14s %9s %9s %5s  %7s\n"
	if c.Metric != t.metric {
		t.metric = c.Metric
		fmt.Fprint(t.w, "\n"+trimmed(format, t.heading(c.Metric), "verdict", "A / B", "interval", "A", "B", "pairs", "p"))
	}
	fmt.Fprint(t.w, trimmed(format, c.A, t.verdict(c), ratio(c), interval(c), t.mean(t.a, c), t.mean(t.b, c), strconv.Itoa(c.Pairs), pText(c.P)))
}

// trimmed formats a line without spaces at its end.
func trimmed(format string, cells ...any) string {
	return strings.TrimRight(fmt.Sprintf(format, cells...), " \n") + "\n"
}

// endCell writes the notes of the cell and clears them.
func (t *runsTable) endCell() {
	if len(t.notes) > 0 {
		fmt.Fprintln(t.w)
	}
	for i, n := range t.notes {
		fmt.Fprintf(t.w, "  [%d] %s\n", i+1, n)
	}
	t.notes, t.metric = nil, ""
}

// heading returns the name of a metric with its unit.
func (t *runsTable) heading(metric string) string {
	one, many := t.kind.Units()
	switch metric {
	case result.MetricCPU:
		return "CPU, us per " + one
	case result.MetricRate:
		return many + " per second"
	case result.MetricLatency:
		return "mean time, us"
	case result.MetricCV:
		return "variation of CPU"
	}
	return "CPU / CPU of " + strings.TrimPrefix(metric, result.MetricCPU+"/")
}

// mean returns a metric in one run: the geometric mean of the trials, or the pooled coefficient of
// variation.
func (t *runsTable) mean(r *result.Results, c result.Comparison) string {
	trials := t.cell.trials(r)
	if c.Metric == result.MetricCV {
		s := stat.PoolCV(SampledTrials(trials[c.A]), t.a.Plan.WindowMS)
		if !s.HasMinDF() {
			return "none"
		}
		return fixed3(s.CV)
	}
	v := meanOf(valuesOf(trials[c.A], t.kind.value(c.Metric)))
	if reference := strings.TrimPrefix(c.Metric, result.MetricCPU+"/"); reference != c.Metric {
		v /= meanCost(trials[reference])
	}
	return fixed3(v)
}

func ratio(c result.Comparison) string {
	if c.Pairs == 0 || strings.HasPrefix(c.Warning, stat.TooShort) {
		return "none"
	}
	return fixed3(c.Ratio)
}

func interval(c result.Comparison) string {
	if c.VerdictHigh == 0 {
		return "none"
	}
	return fixed3(c.VerdictLow) + " to " + fixed3(c.VerdictHigh)
}

// fixed3 writes v with three decimals, or as a whole number with thousands separated from 1,000 on.
func fixed3(v float64) string {
	if v < 1000 || v >= 1e15 {
		return fmt.Sprintf("%.3f", v)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func pText(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// verdict returns the verdict and the number of the note that holds the comparison's warning. The
// warning that all comparisons share has no note.
func (t *runsTable) verdict(c result.Comparison) string {
	s := c.Verdict
	if s == result.Equivalent {
		s = t.equivalent()
	}
	warning := strings.TrimSuffix(strings.TrimSuffix(c.Warning, runWarning(t.a, t.b)), "; ")
	if warning == "" {
		return s
	}
	i := slices.Index(t.notes, warning)
	if i < 0 {
		i = len(t.notes)
		t.notes = append(t.notes, warning)
	}
	return fmt.Sprintf("%s [%d]", s, i+1)
}

// equivalent returns the verdict Equivalent with the margin.
func (t *runsTable) equivalent() string {
	return fmt.Sprintf("equivalent within %.3g %%", 100*margin(t.a))
}

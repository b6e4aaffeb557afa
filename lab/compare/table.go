package compare

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir/lab/result"
	"weir/lab/stat"
)

// WriteRuns writes what Runs found of a and b as text for a person. The names say which run is
// which, usually by their directories. Errors are w's.
func WriteRuns(w io.Writer, aName, bName string, a, b *result.Results, found []result.Comparison) error {
	t := runsTable{w: bufio.NewWriter(w), a: a, b: b}
	fmt.Fprintf(t.w, "A  %s (%s)\nB  %s (%s)\n\n", aName, summary(a), bName, summary(b))
	fmt.Fprintf(t.w, "Over 1, A cost more%s. Intervals of 95 %% and p are corrected for all comparisons in their metric.\n", orAnswered(a))
	fmt.Fprintf(t.w, "Beware: %s.\n", caution(a, b))
	for _, c := range found {
		t.line(c)
	}
	t.endCell()
	return t.w.Flush()
}

// orAnswered is what a ratio over 1 means where answers were counted.
func orAnswered(r *result.Results) string {
	switch {
	case r.Plan.HTTP():
		return ", or answered more requests a second"
	case r.Plan.Stack():
		return ", or took longer, or did more operations a second"
	}
	return ""
}

func summary(r *result.Results) string {
	s := fmt.Sprintf("%s, %s", r.Experiment, r.Started.UTC().Format("2006-01-02 15:04 UTC"))
	if r.Finished.IsZero() {
		s += ", unfinished"
	}
	return s
}

// runsTable writes comparisons as tables, one a metric, with notes after the tables of a cell.
type runsTable struct {
	w      *bufio.Writer
	a, b   *result.Results
	cell   cell
	metric string
	notes  []string // of the cell, numbered from 1
}

func (t *runsTable) line(c result.Comparison) {
	if at := (cell{c.Load, c.Connections, c.Pattern}); at != t.cell || t.metric == "" {
		t.endCell()
		t.cell = at
		fmt.Fprintf(t.w, "\n%s\n", at)
	}
	if c.Metric != t.metric {
		t.metric = c.Metric
		fmt.Fprintf(t.w, "\n  %-24s %9s %9s   %6s  %-14s %5s  %7s  %s\n", t.heading(c.Metric), "A", "B", "A / B", "interval", "pairs", "p", "verdict")
	}
	av, bv := t.mean(t.a, c), t.mean(t.b, c)
	fmt.Fprintf(t.w, "  %-24s %9s %9s   %6s  %-14s %5d  %7s  %s\n", c.A, av, bv, ratio(c), interval(c), c.Pairs, pText(c.P), t.verdict(c))
}

// endCell writes the notes and forgets them.
func (t *runsTable) endCell() {
	if len(t.notes) > 0 {
		fmt.Fprintln(t.w)
	}
	for i, n := range t.notes {
		fmt.Fprintf(t.w, "  [%d] %s\n", i+1, n)
	}
	t.notes, t.metric = nil, ""
}

func (t *runsTable) heading(metric string) string {
	switch metric {
	case result.MetricCPU:
		return "CPU, us a " + t.a.Plan.Unit()
	case result.MetricRate:
		return t.a.Plan.Units() + " a second"
	case result.MetricLatency:
		return "mean time, us"
	case result.MetricCV:
		return "variation of CPU"
	}
	return "CPU / " + strings.TrimPrefix(metric, result.MetricCPU+"/") + "'s"
}

// mean is a metric in one run: the geometric mean of its trials, or their pooled variation.
func (t *runsTable) mean(r *result.Results, c result.Comparison) string {
	trials := t.cell.trials(r)
	if c.Metric == result.MetricCV {
		s := stat.Pool(Records(trials[c.A]), t.a.Plan.WindowMS)
		if !s.Enough() {
			return "none"
		}
		return fmt.Sprintf("%.3f", s.CV)
	}
	v := meanCost(trials[c.A])
	if c.Metric == result.MetricRate {
		v = meanOf(rates(trials[c.A]))
	}
	if c.Metric == result.MetricLatency {
		v = meanOf(latencies(trials[c.A]))
	}
	if reference := strings.TrimPrefix(c.Metric, result.MetricCPU+"/"); reference != c.Metric {
		v /= meanCost(trials[reference])
	}
	return fmt.Sprintf("%.3f", v)
}

func ratio(c result.Comparison) string {
	if c.Pairs == 0 || strings.HasPrefix(c.Warning, stat.TooShort) {
		return "none"
	}
	return fmt.Sprintf("%.3f", c.Ratio)
}

func interval(c result.Comparison) string {
	if c.VerdictHigh == 0 {
		return "none"
	}
	return fmt.Sprintf("%.3f to %.3f", c.VerdictLow, c.VerdictHigh)
}

func pText(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// verdict is the word, its margin, and the number of a note where there is a warning beside the one
// that all share.
func (t *runsTable) verdict(c result.Comparison) string {
	s := c.Verdict
	if s == result.Equivalent {
		s = fmt.Sprintf("equivalent within %.3g %%", 100*margin(t.a))
	}
	warning := strings.TrimSuffix(strings.TrimSuffix(c.Warning, caution(t.a, t.b)), "; ")
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

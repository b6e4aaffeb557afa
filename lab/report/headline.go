package report

import (
	"fmt"

	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/stat"
)

// headlineSentences state the verdict of the run's headline, and how it was found. There are none
// for a run without one.
func (d *Digest) headlineSentences() []string {
	h := d.Headline
	if h == nil || d.Accepted() == 0 {
		return nil
	}
	return []string{"Headline: " + d.headlineVerdict(h) + ".", d.headlineLooks(h) + "."}
}

// headlineVerdict is the verdict in plain words: "a used 0.62 times as much CPU per message as b
// (0.58 to 0.66)".
func (d *Digest) headlineVerdict(h *result.Headline) string {
	as, same := "used %s times as much CPU per "+d.Unit()+" as", "used the same CPU per "+d.Unit()
	switch h.Metric {
	case result.MetricRate:
		as, same = "did %s times as many "+d.Units()+" per second as", "did the same number of "+d.Units()+" per second"
	case result.MetricLatency:
		as, same = "took %s times as long per "+d.Unit()+" as", "took the same time per "+d.Unit()
	}
	switch {
	case h.Verdict == result.Different:
		return fmt.Sprintf("%s "+as+" %s (%s)", h.A, format.Times(h.Ratio), h.B, format.Between(h.Low, h.High))
	case h.Verdict == result.Equivalent:
		return fmt.Sprintf("%s and %s %s within %s %% (ratio %s)", h.A, h.B, same, format.Short(100*d.Plan.Margin), format.Between(h.Low, h.High))
	case h.High > 0:
		return fmt.Sprintf("it is undecided whether %s and %s %s (ratio %s)", h.A, h.B, same, format.Between(h.Low, h.High))
	}
	return fmt.Sprintf("it is undecided whether %s and %s %s: %s with accepted trials of both are too few", h.A, h.B, same, format.Plural(h.Blocks, "block", "blocks"))
}

// headlineLooks says where the headline was tested, and how often.
func (d *Digest) headlineLooks(h *result.Headline) string {
	where := fmt.Sprintf("It was tested first and alone, with the load %s on %s, %s", h.Load, format.Plural(h.Connections, "connection", "connections"), format.Pattern(h.Pattern))
	blocks := fmt.Sprintf("after %d of %d planned blocks", h.Blocks, h.PlannedBlocks)
	if h.Looks > 0 {
		blocks = fmt.Sprintf("at look %d, %s", h.Looks, blocks)
	}
	switch {
	case h.PlannedBlocks == 0:
		return fmt.Sprintf("%s, once, in %s", where, format.Plural(h.Blocks, "block", "blocks"))
	case h.Verdict == result.Undecided:
		return where + ": undecided " + blocks + "; a longer --time allows more"
	}
	return where + ": decided " + blocks
}

// headlineCaveats are the conditions that weaken the headline.
func (d *Digest) headlineCaveats() (out []string) {
	h := d.Headline
	if h == nil {
		return nil
	}
	if h.Instead != "" {
		out = append(out, fmt.Sprintf("The headline of the experiment was not tested (%s). That of this run is %s against %s.", h.Instead, h.A, h.B))
	}
	if headlineControlDiffers(h) {
		out = append(out, fmt.Sprintf("In the headline's blocks a subject differs from itself (the A/A control: ratio %s). Repeat the run before you rely on its verdict.", format.Between(h.ControlLow, h.ControlHigh)))
	}
	return out
}

// headlineControlDiffers reports whether the interval of the A/A control in the headline's blocks
// does not contain 1.
func headlineControlDiffers(h *result.Headline) bool {
	return h.ControlHigh > 0 && (h.ControlLow > 1 || h.ControlHigh < 1)
}

// headlineTable shows the headline in one row; nil: the run has none. The last columns are left out
// where the table is too wide for the terminal.
func (d *Digest) headlineTable() *Table {
	h := d.Headline
	if h == nil {
		return nil
	}
	t := &Table{Caption: "The headline, which was tested first and alone", Align: "llrrlrrr",
		Head: []string{"First / second", "Verdict", "Ratio", "Interval", "Metric", "Means", "Looks", "Blocks"}}
	ratio, means := format.Absent, format.Absent
	if h.Ratio > 0 {
		ratio = format.Times(h.Ratio)
	}
	if a, b := d.kind.Compare().HeadlineMeans(&d.Results); a > 0 && b > 0 {
		means = d.headlineMean(a) + " / " + d.headlineMean(b)
	}
	t.Add(h.A+" / "+h.B, h.Verdict, ratio, format.Between(h.Low, h.High), d.metricName(h.Metric), means, format.Count(h.Looks), format.Count(h.Blocks))
	return t
}

// headlineMean formats a mean in the headline's metric.
func (d *Digest) headlineMean(v float64) string {
	if d.Headline.Metric == result.MetricRate {
		return format.Rate(v)
	}
	return format.Sig(v) + " µs"
}

// headlineSection explains the headline's test. It is empty if the run has no headline.
func (d *Digest) headlineSection() Section {
	s := Section{ID: "headline", Title: "The headline", How: "The comparison that the run is about. It is tested first, with 4 of the 5 % by which a run may have a false verdict, and all other comparisons are corrected among themselves."}
	h := d.Headline
	if h == nil || len(d.Trials) == 0 {
		return s
	}
	s.Blocks = []Block{{Table: d.headlineTable()}, {Text: d.headlineLooks(h) + "."}}
	if h.PlannedBlocks > 0 {
		s.Blocks = append(s.Blocks, Paragraph("Its blocks come before all others and contain only its two subjects%s. After each of them from the third on, a group sequential test looks whether the verdict is certain. The interval holds at %s %% for all looks together. A test that stops early tends to overestimate the difference. No other comparison uses these blocks.",
			d.withControl(), format.Short(100*(1-stat.HeadlineLevel))))
	}
	if h.ControlHigh > 0 {
		s.Blocks = append(s.Blocks, Paragraph("The A/A control in the same blocks: ratio %s (%s).", format.Times(h.ControlRatio), format.Between(h.ControlLow, h.ControlHigh)))
	}
	if h.Warning != "" {
		s.Blocks = append(s.Blocks, Paragraph("Warning: %s.", h.Warning))
	}
	return s
}

// withControl names the A/A control if it is in the headline's blocks.
func (d *Digest) withControl() string {
	if c := d.Plan.AAControl; c != "" && (c == d.Headline.A || c == d.Headline.B) {
		return ", and " + c + " a second time as the A/A control"
	}
	return ""
}

// isHeadline reports whether a comparison is the headline.
func (d *Digest) isHeadline(c result.Comparison) bool {
	h := d.Headline
	return h != nil && c.A == h.A && c.B == h.B && c.Metric == h.Metric && c.Load == h.Load && c.Connections == h.Connections && c.Pattern == h.Pattern
}

// besideHeadline says which part of the level the comparisons in the headline's metric have.
func (d *Digest) besideHeadline(others string, metric string) string {
	level, why := 1, "is not different, and leaves that much"
	if d.Headline.Verdict == result.Different {
		level, why = 5, "is different, and passes its level on"
	}
	return fmt.Sprintf("Verdicts on %s: the headline is tested first, with a level of 4 %%. The rest (%s) has Holm's correction with a level of %d %%, because the headline %s. At most one run in 20 has a false \"different\" among all.",
		d.metricNoun(metric), others, level, why)
}

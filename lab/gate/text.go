package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Line returns the outcome in one line.
func (o *Outcome) Line() string {
	took := (time.Duration(o.TookS) * time.Second).String()
	if o.Verdict == Recorded {
		return fmt.Sprintf("%s: %s in %d blocks and %s; two halves of the same program differ by %.1f %% in a block (standard deviation)", o.Verdict, o.Head, o.Blocks, took, 100*o.noise)
	}
	line := o.Verdict + ": "
	for i, j := range o.judged() {
		if i > 0 {
			line += "; "
		}
		line += j.sentence(o)
	}
	line += fmt.Sprintf(" (margin %s, %d blocks in %s)", percent(o.Margin), o.Blocks, took)
	if o.Reason != "" {
		line += ": " + o.Reason
	}
	return line
}

// judged returns the judged metrics, those with the verdict of the gate first.
func (o *Outcome) judged() []Judgement {
	judged := slices.DeleteFunc(slices.Clone(o.Metrics), func(j Judgement) bool { return !j.Judged })
	slices.SortStableFunc(judged, func(a, b Judgement) int { return rank(o, a) - rank(o, b) })
	return judged
}

func rank(o *Outcome, j Judgement) int {
	if j.Verdict == o.Verdict {
		return 0
	}
	return 1
}

// sentence says what was found of a metric.
func (j Judgement) sentence(o *Outcome) string {
	if j.Base == 0 {
		return fmt.Sprintf("%s %s %s", j.Title, number(j.Head), j.Unit)
	}
	text := fmt.Sprintf("%s %s, %s to %s %s", j.Title, change(j.Ratio), number(j.Base), number(j.Head), j.Unit)
	if j.Name == MetricBinary {
		return text
	}
	if j.High == 0 {
		return text + ", no interval yet"
	}
	return text + fmt.Sprintf(", %s confidence %s to %s", percent(o.Confidence), change(j.Low), change(j.High))
}

// change writes a ratio as a difference: "+2.1 %".
func change(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// number writes a figure with four digits at most, and no exponent.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// percent writes a share: "2.5 %".
func percent(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }

// Markdown returns the outcome as a comment for a pull request.
func (o *Outcome) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Benchmark: %s\n\n", o.Verdict)
	if o.Reason != "" {
		fmt.Fprintf(&b, "Undecided because %s.\n\n", o.Reason)
	}
	base := o.Baseline
	if o.Base != nil {
		base = o.Base.String()
	}
	fmt.Fprintf(&b, "HEAD is %s", code(o.Head.String()))
	if base != "" {
		fmt.Fprintf(&b, ", BASE is %s", code(base))
	}
	fmt.Fprintf(&b, ". A ratio over 1 is worse; worse than %s is a failure.\n\n", percent(o.Margin))
	b.WriteString("| metric | BASE | HEAD | ratio | " + percent(o.Confidence) + " interval | verdict |\n| --- | ---: | ---: | ---: | --- | --- |\n")
	for _, j := range o.Metrics {
		b.WriteString(j.row())
	}
	fmt.Fprintf(&b, "| A/A control: CPU | | | %.3f | %s | %s |\n\n", o.Control.Ratio, o.Control.range3(), o.Control.Verdict)
	fmt.Fprintf(&b, "%d of %d blocks, %d trials (%d disturbed), %.0f s; %s with %d connections; %s, %d cores, Linux %s.\n",
		o.Blocks, o.Planned, o.Trials, o.Disturbed, o.TookS, o.Load.Workload, o.Load.Connections, o.Machine.CPU, o.Machine.Cores, o.Machine.Kernel)
	for _, w := range o.Warnings {
		fmt.Fprintf(&b, "\n**Caution:** %s.\n", w)
	}
	if o.Command != "" {
		fmt.Fprintf(&b, "\nRepeat it: %s\n", code(o.Command))
	}
	return b.String()
}

// row returns the metric as a row of a table. Without a BASE there is nothing to compare with.
func (j Judgement) row() string {
	base, ratio, verdict := number(j.Base), fmt.Sprintf("%.3f", j.Ratio), j.Verdict
	if j.Base == 0 {
		base, ratio = "none", "none"
	}
	if !j.Judged {
		verdict = "not judged"
	}
	return fmt.Sprintf("| %s, %s | %s | %s | %s | %s | %s |\n", j.Title, j.Unit, base, number(j.Head), ratio, j.range3(), verdict)
}

// ErrorMarkdown returns the comment for a pull request of a gate without an outcome.
func ErrorMarkdown(err error) string {
	var b strings.Builder
	b.WriteString("### Benchmark: no verdict\n\n")
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(&b, "- %s\n", code(strings.TrimSpace(line)))
	}
	return b.String()
}

func (j Judgement) range3() string {
	switch {
	case j.High == 0:
		return "none"
	case j.Name == MetricBinary:
		return "exact"
	}
	return fmt.Sprintf("%.3f to %.3f", j.Low, j.High)
}

// code quotes text as a Markdown code span, whatever it holds.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	text = strings.ReplaceAll(text, "\n", " ")
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

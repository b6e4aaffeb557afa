package report

import (
	"fmt"
	"math"

	"weir/lab/compare"
	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
	"weir/lab/stat"
)

// maxTimePoints limits the points of a curve over time: more would not be visible.
const maxTimePoints = 200

func (d *Digest) TimeSection() Section {
	return Section{ID: "time", Title: "CPU over time",
		How:    "One trial of each subject: the one whose mean is nearest to the mean of all its trials under the same load. The curve of a steady server is flat. Short windows make any curve rough.",
		Blocks: d.PerGroup("CPU over time", d.timeFigure)}
}

func (d *Digest) timeFigure(g *Group) *figure.Figure {
	c := figure.Lines{Name: "cpu-over-time-" + d.Tag(g), Title: "CPU over time: " + d.Caption(g), Desc: "One curve for each subject, one trial each.",
		X: figure.Axis{Label: "seconds since the start of the measured window", Zero: true}, Y: figure.Axis{Label: "CPU, % of one core", Zero: true}}
	for _, cell := range g.Cells {
		if t := cell.typical(); t != nil && cell.Percent.Known() {
			c.Curves = append(c.Curves, figure.Curve{Name: cell.Subject, Style: cell.Index, Plain: true, Points: overTime(t)})
		}
	}
	return c.Draw()
}

// typical returns the trial whose mean is nearest to the cell's, among the accepted ones with at
// least two samples. It returns nil if there is none.
func (c *Cell) typical() *result.Trial {
	var best *result.Trial
	for _, t := range c.Trials {
		if len(t.Samples) > 1 && (best == nil || math.Abs(t.CPUPercentMean-c.Percent.Mean) < math.Abs(best.CPUPercentMean-c.Percent.Mean)) {
			best = t
		}
	}
	return best
}

// overTime returns the CPU between samples, averaged to at most maxTimePoints. An interval
// shorter than half the mean distance of two samples is left out, because the sampler's timing
// would dominate it. Samples after the last full step are left out, too.
func overTime(t *result.Trial) []figure.XY {
	meanGapMS := (t.Samples[len(t.Samples)-1].AtMS - t.Samples[0].AtMS) / float64(len(t.Samples)-1)
	step := max(1, (len(t.Samples)-1+maxTimePoints-1)/maxTimePoints)
	var out []figure.XY
	for i := step; i < len(t.Samples); i += step {
		a, b := t.Samples[i-step], t.Samples[i]
		if ms := b.AtMS - a.AtMS; ms > 0 && ms > meanGapMS/2 {
			out = append(out, figure.XY{X: (a.AtMS + b.AtMS) / 2000, Y: 100 * float64(b.CPUNS-a.CPUNS) / (ms * 1e6)})
		}
	}
	return out
}

func (d *Digest) WindowsSection() Section {
	return Section{ID: "windows", Title: "Variation against the length of the window",
		How:    fmt.Sprintf("The coefficient of variation depends on the length of the window: bursts average out in long ones. The window of the published measurements and of this report is %s ms. The windows of all trials of a subject are pooled; a curve ends where fewer than %d degrees of freedom remain.", format.Short(d.Plan.WindowMS), stat.MinDF),
		Blocks: d.PerGroup("Variation", d.windowFigure)}
}

// minWindowMS is the least length of a window: twice the sampling interval.
const minWindowMS = 100

func (d *Digest) windowFigure(g *Group) *figure.Figure {
	c := figure.Lines{Name: "variation-by-window-" + d.Tag(g), Title: "Variation by window: " + d.Caption(g),
		Desc: "One curve for each subject: the coefficient of variation of the windows of all its trials.",
		X:    figure.Axis{Label: "window, ms", Log: true}, Y: figure.Axis{Label: "standard deviation / mean of CPU", Zero: true}}
	for _, cell := range g.Cells {
		curve := figure.Curve{Name: cell.Subject, Style: cell.Index, Points: cell.byWindow(d.Plan.WindowMS)}
		if len(curve.Points) > 0 && cell.Percent.Known() {
			c.Curves = append(c.Curves, curve)
			c.X.At = longer(c.X.At, curve.Points)
		}
	}
	return c.Draw()
}

// longer returns the ticks, or the x values of points if those are more.
func longer(ticks []float64, points []figure.XY) []float64 {
	if len(points) <= len(ticks) {
		return ticks
	}
	ticks = nil
	for _, p := range points {
		ticks = append(ticks, p.X)
	}
	return ticks
}

// byWindow returns the variation by window length: windowMS, its halves down to minWindowMS, and
// its doubles.
func (c *Cell) byWindow(windowMS float64) []figure.XY {
	var out []figure.XY
	for _, w := range stat.CVByWindow(compare.SampledTrials(c.Trials), windowMS, minWindowMS) {
		e := estimateSpread(w.PooledCV, len(c.Trials))
		out = append(out, e.Point(w.Length, fmt.Sprintf("%s, windows of %s ms: %s, %s", c.Subject, format.Sig(w.Length), e, format.Plural(w.DF, "degree of freedom", "degrees of freedom"))))
	}
	return out
}

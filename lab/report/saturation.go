package report

import (
	"fmt"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// saturationSection is the paper's second question near capacity; runs without --saturation leave it out.
func (d *digest) saturationSection() section {
	s := section{ID: "saturation", Title: "Near saturation",
		How: "Each subject at a share of its own capacity, which bisection found. A server that is easy to provision keeps its variation and its tail flat up to the right edge."}
	if len(d.Saturation) == 0 {
		return s
	}
	s.Blocks = []block{{Figures: []*figure.Figure{
		d.saturationFigure("saturation-variation", "Variation of CPU near capacity", figure.Axis{Label: "standard deviation / mean of CPU", Zero: true}, func(x result.Saturation) float64 { return x.CPUCV }),
		d.saturationFigure("saturation-tail", "99th percentile near capacity", figure.Axis{Label: "latency p99, µs", Log: true}, func(x result.Saturation) float64 { return x.LatencyUS.P99 }),
	}}, {Table: d.saturationTable()}}
	return s
}

func (d *digest) saturationFigure(name, title string, y figure.Axis, of func(result.Saturation) float64) *figure.Figure {
	c := figure.Lines{Name: name, Title: title, Desc: "One curve for each subject.", X: figure.Axis{Label: "% of the subject's capacity"}, Y: y}
	for i, subject := range d.subjects {
		curve := figure.Curve{Name: subject, Style: i}
		for _, x := range d.Saturation {
			if x.Subject != subject {
				continue
			}
			if !slices.Contains(c.X.At, x.SharePercent) {
				c.X.At = append(c.X.At, x.SharePercent)
			}
			curve.Points = append(curve.Points, figure.XY{X: x.SharePercent, Y: of(x), Hover: fmt.Sprintf("%s at %s %%: %s", subject, short(x.SharePercent), sig(of(x)))})
		}
		c.Curves = append(c.Curves, curve)
	}
	return c.Draw()
}

func (d *digest) saturationTable() *table {
	t := &table{Caption: "At a share of each subject's capacity", Align: "lrlrrrrrr",
		Head: []string{"Subject", "Connections", "Arrivals", "Capacity, messages/s", "Share, %", "CPU, % of a core", "σ/µ", "Latency p50 / p99 / p99.9, µs", "Load sent"}}
	for _, x := range d.Saturation {
		capacity := sig(x.CapacityRate)
		if x.GeneratorBound {
			capacity = "at least " + capacity
		}
		t.add(x.Subject, count(x.Connections), patternName(x.Pattern), capacity, short(x.SharePercent), sig(x.CPUPercentMean), fixed(x.CPUCV, 3),
			sig(x.LatencyUS.P50)+" / "+sig(x.LatencyUS.P99)+" / "+sig(x.LatencyUS.P999), percent(x.AchievedRatio))
	}
	return t
}

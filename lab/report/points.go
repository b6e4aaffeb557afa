package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/report/format"
	"weir/lab/result"
)

// TrialsSection shows every trial as a point.
func (d *Digest) TrialsSection() Section {
	return Section{ID: "trials", Title: "Every trial",
		How:    "Each point is one trial, earlier ones higher in their row. Hollow points are rejected trials, whose figures are not used. A trial in which the subject failed has no point. The numbers are in trials.csv, and on the page under each figure.",
		Blocks: d.PerGroup("Trials", d.pointsFigure)}
}

// pointsFigure draws the trials of a group.
func (d *Digest) pointsFigure(g *Group) *figure.Figure {
	c := figure.Rows{Name: "trials-" + d.Tag(g), Title: "Every trial: " + d.Caption(g),
		Desc: "One row for each subject, one point for each trial.", X: figure.Axis{Label: "CPU, µs per " + d.Unit()}}
	numbers := figure.Data{Head: d.trialHead()}
	for _, cell := range g.allCells() {
		if d.Elsewhere(cell.Subject) {
			continue
		}
		row := figure.Row{Name: cell.Subject, Role: figure.Series(cell.Index), Note: pointsNote(cell)}
		trials := slices.Concat(cell.Trials, cell.rejected)
		slices.SortStableFunc(trials, func(a, b *result.Trial) int { return a.ID - b.ID })
		for i, t := range trials {
			up := -1 + 2*float64(i)/float64(max(len(trials)-1, 1))
			row.Dots = append(row.Dots, figure.Dot{X: t.CPUUSPerMessage, Up: up, Shape: figure.ShapeOf(cell.Index), Role: figure.Series(cell.Index), Hollow: !t.Accepted, Hover: d.pointHover(t)})
			numbers.Rows = append(numbers.Rows, trialRow(t))
		}
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return nil
	}
	f := c.Draw()
	f.Data = numbers
	return f
}

// trialHead returns the column headings of the table under a figure of trials.
func (d *Digest) trialHead() []string {
	return []string{"Trial", "Subject", "Block", "Place", "µs per " + d.Unit(), "% of a core", "σ/µ", "Load sent", "Lateness p99, µs", "Reason of rejection"}
}

func trialRow(t *result.Trial) []string {
	return []string{fmt.Sprint(t.ID), t.Subject, format.Count(t.Block + 1), format.Count(t.Position + 1), format.Sig(t.CPUUSPerMessage), format.Sig(t.CPUPercentMean), variationOf(t),
		format.Percent(t.AchievedRatio), format.Sig(t.LatenessUS.P99), strings.Join(t.RejectedBecause, "; ")}
}

func pointsNote(c *Cell) string {
	s := format.Plural(len(c.Trials), "trial", "trials")
	if len(c.rejected) > 0 {
		s += fmt.Sprintf(", %d rejected", len(c.rejected))
	}
	if len(c.failed) > 0 {
		s += fmt.Sprintf(", %d failed", len(c.failed))
	}
	return s
}

// variationOf formats the trial's own coefficient of variation; a trial of one window has none.
func variationOf(t *result.Trial) string {
	if t.CPUCV == 0 {
		return format.Absent
	}
	return format.Fixed(t.CPUCV, 3)
}

func (d *Digest) pointHover(t *result.Trial) string {
	s := fmt.Sprintf("trial %d, %s, block %d place %d: %s µs per %s, %s %% of a core, σ/µ %s, %s of the load sent, lateness p99 %s µs",
		t.ID, t.Subject, t.Block+1, t.Position+1, format.Sig(t.CPUUSPerMessage), d.Unit(), format.Sig(t.CPUPercentMean), variationOf(t), format.Percent(t.AchievedRatio), format.Sig(t.LatenessUS.P99))
	if !t.Accepted {
		s += "; rejected: " + strings.Join(t.RejectedBecause, "; ")
	}
	return s
}

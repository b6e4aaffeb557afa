package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// trialsSection shows every trial as a point.
func (d *digest) trialsSection() section {
	s := section{ID: "trials", Title: "Every trial",
		How: "Each point is one trial, earlier ones higher in their row. Hollow points are rejected trials, whose figures are not used. A trial in which the subject failed has no point. The numbers are in trials.csv, and on the page under each figure."}
	s.Blocks = d.perGroup("Trials", d.pointsFigure)
	return s
}

// pointsFigure draws the trials of a group.
func (d *digest) pointsFigure(g *group) *figure.Figure {
	c := figure.Rows{Name: "trials-" + d.tag(g), Title: "Every trial: " + d.caption(g),
		Desc: "One row for each subject, one point for each trial.", X: figure.Axis{Label: "CPU, µs per " + d.unit()}}
	numbers := figure.Data{Head: d.trialHead()}
	for _, cell := range g.allCells() {
		if d.elsewhere(cell.subject) {
			continue
		}
		row := figure.Row{Name: cell.subject, Role: figure.Series(cell.index), Note: pointsNote(cell)}
		trials := slices.Concat(cell.trials, cell.rejected)
		slices.SortStableFunc(trials, func(a, b *result.Trial) int { return a.ID - b.ID })
		for i, t := range trials {
			up := -1 + 2*float64(i)/float64(max(len(trials)-1, 1))
			row.Dots = append(row.Dots, figure.Dot{X: t.CPUUSPerMessage, Up: up, Shape: figure.ShapeOf(cell.index), Role: figure.Series(cell.index), Hollow: !t.Accepted, Hover: d.pointHover(t)})
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
func (d *digest) trialHead() []string {
	return []string{"Trial", "Subject", "Block", "Place", "µs per " + d.unit(), "% of a core", "σ/µ", "Load sent", "Lateness p99, µs", "Reason of rejection"}
}

func trialRow(t *result.Trial) []string {
	return []string{fmt.Sprint(t.ID), t.Subject, count(t.Block + 1), count(t.Position + 1), sig(t.CPUUSPerMessage), sig(t.CPUPercentMean), variationOf(t),
		percent(t.AchievedRatio), sig(t.LatenessUS.P99), strings.Join(t.RejectedBecause, "; ")}
}

func pointsNote(c *cell) string {
	s := plural(len(c.trials), "trial", "trials")
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
		return absent
	}
	return fixed(t.CPUCV, 3)
}

func (d *digest) pointHover(t *result.Trial) string {
	s := fmt.Sprintf("trial %d, %s, block %d place %d: %s µs per %s, %s %% of a core, σ/µ %s, %s of the load sent, lateness p99 %s µs",
		t.ID, t.Subject, t.Block+1, t.Position+1, sig(t.CPUUSPerMessage), d.unit(), sig(t.CPUPercentMean), variationOf(t), percent(t.AchievedRatio), sig(t.LatenessUS.P99))
	if !t.Accepted {
		s += "; rejected: " + strings.Join(t.RejectedBecause, "; ")
	}
	return s
}

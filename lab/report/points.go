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
		How: "Each point is one trial, earlier ones higher in their row; hollow points were refused and count for nothing. Point at one for its numbers; all of them are in trials.csv."}
	s.Blocks = d.perGroup("Trials", d.pointsFigure)
	return s
}

func (d *digest) pointsFigure(g *group) *figure.Figure {
	c := figure.Rows{Name: "trials-" + d.tag(g), Title: "Every trial: " + d.caption(g),
		Desc: "One row for each subject, one point for each trial.", X: figure.Axis{Label: "CPU, µs per message"}}
	for _, cell := range g.all() {
		if d.elsewhere(cell.subject) {
			continue
		}
		row := figure.Row{Name: cell.subject, Role: figure.Series(cell.index), Note: pointsNote(cell)}
		trials := slices.Concat(cell.trials, cell.refused)
		slices.SortStableFunc(trials, func(a, b *result.Trial) int { return a.ID - b.ID })
		for i, t := range trials {
			up := -1 + 2*float64(i)/float64(max(len(trials)-1, 1))
			row.Dots = append(row.Dots, figure.Dot{X: t.CPUUSPerMessage, Up: up, Shape: figure.ShapeOf(cell.index), Role: figure.Series(cell.index), Hollow: !t.Accepted, Hover: pointHover(t)})
		}
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return nil
	}
	return c.Draw()
}

func pointsNote(c *cell) string {
	s := plural(len(c.trials), "trial", "trials")
	if len(c.refused) > 0 {
		s += fmt.Sprintf(", %d refused", len(c.refused))
	}
	return s
}

func pointHover(t *result.Trial) string {
	s := fmt.Sprintf("trial %d, %s, block %d place %d: %s µs per message, %s %% of a core, σ/µ %s, %s of the load sent, lateness p99 %s µs",
		t.ID, t.Subject, t.Block+1, t.Position+1, sig(t.CPUUSPerMessage), sig(t.CPUPercentMean), fixed(t.CPUCV, 3), percent(t.AchievedRatio), sig(t.LatenessUS.P99))
	if !t.Accepted {
		s += "; refused: " + strings.Join(t.RefusedBecause, "; ")
	}
	return s
}

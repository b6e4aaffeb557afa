package http

import (
	"math"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// costSection ranks the subjects under every load.
func (d digest) costSection() report.Section {
	return report.Section{ID: "cost", Title: "CPU per request",
		How:    "CPU of the server's whole process tree, lowest first. Generator and Machine are the CPU of the load generator and of the whole machine per request, in the same trials. " + d.Correction(result.MetricCPU),
		Blocks: d.PerGroupTable(d.RankTable)}
}

// attempted returns the requests per second that a group was offered; NaN in a closed loop.
func (d digest) attempted(g *report.Group) float64 {
	if g.Pattern == result.Closed {
		return math.NaN()
	}
	return d.LoadOf(g.Load).Rate * float64(g.Connections)
}

// without returns the group that differs from g only in one setting of its load, which unset
// clears; nil if there is none.
func (d digest) without(g *report.Group, unset func(*result.Requests)) *report.Group {
	return d.Sibling(g, func(own, other result.Load) bool {
		unset(&own.Requests)
		return own == other
	})
}

// Answered returns the share of the due requests that were answered in the windows of a subject's
// trials; NaN if none was due.
func Answered(c *report.Cell) float64 {
	got, of := 0.0, 0.0
	for _, t := range c.Trials {
		if t.HTTP != nil {
			got, of = got+float64(t.Messages), of+float64(t.HTTP.Attempted)
		}
	}
	return min(1, got/of)
}

// ErrorKinds formats the errors of all accepted trials by kind, including the warm-ups: "timeout
// 12, reset 3".
func ErrorKinds(c *report.Cell) string {
	var kinds format.Tally
	for _, t := range c.Trials {
		for k, n := range requestsOf(t).Errors {
			kinds.Add(k, n)
		}
	}
	return strings.Join(kinds.ByCount().Phrases("%s %s"), ", ")
}

// failedShare returns the share of failed requests.
func failedShare(c *report.Cell) float64 {
	failed, of := 0.0, 0.0
	for _, t := range c.Trials {
		q := requestsOf(t)
		failed, of = failed+float64(q.Failed), of+float64(q.Attempted)
	}
	return failed / of
}

// representative returns the group that figures and sentences use if they cover only one load: the
// highest rate that every subject answered, or the first group.
func (d digest) representative() []*report.Group {
	if len(d.Groups) == 0 {
		return nil
	}
	g := d.Groups[0]
	for _, at := range d.sweep() {
		if !slices.ContainsFunc(at.Cells, func(c *report.Cell) bool { return !(Answered(c) >= nearlyAll) }) {
			g = at
		}
	}
	return []*report.Group{g}
}

// requestsOf returns the outcomes of a trial's requests, or zeros if it has none.
func requestsOf(t *result.Trial) result.HTTP {
	if t.HTTP == nil {
		return result.HTTP{}
	}
	return *t.HTTP
}

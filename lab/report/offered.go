package report

import (
	"fmt"

	"weir/lab/report/format"
	"weir/lab/result"
)

// OfferedSection shows how well the generator kept its schedule.
func (d *Digest) OfferedSection() Section {
	return Section{ID: "offered", Title: "The offered load and its timing",
		How:    "Medians over the accepted trials. Lateness is the actual minus the intended send time. The spread of a burst is from its first message to its last. A short connection connects, sends one message and closes; its duration counts from the time at which it was due. Limited by: schedule means that all was done that was offered; server waits means that messages were with the subject, which had CPU to spare.",
		Blocks: d.PerGroupTable(d.offeredTable)}
}

func (d *Digest) offeredTable(g *Group) *Table {
	t := &Table{Caption: format.Upper(d.Caption(g)), Align: "lrrrrrrrrrl", Head: []string{"Subject", format.Upper(d.Units()) + "/s", "Sent in time", "Lateness p50, µs", "p99, µs",
		"Spread p50, µs", "p99, µs", "Short connections", "Duration p50, µs", "p99, µs", "Limited by"}}
	for _, c := range g.Measured() {
		of := func(f func(*result.Trial) float64) string { return orAbsent(Median(c.Trials, f)) }
		t.Add(c.Subject, of(func(t *result.Trial) float64 { return t.OfferedRate }), format.Percent(Median(c.Trials, func(t *result.Trial) float64 { return t.AchievedRatio })),
			of(func(t *result.Trial) float64 { return t.LatenessUS.P50 }), of(func(t *result.Trial) float64 { return t.LatenessUS.P99 }),
			of(func(t *result.Trial) float64 { return t.SpreadUS.P50 }), of(func(t *result.Trial) float64 { return t.SpreadUS.P99 }), shortOnes(c.Trials),
			of(func(t *result.Trial) float64 { return churn(t).DurationUS.P50 }), of(func(t *result.Trial) float64 { return churn(t).DurationUS.P99 }), limits(c.Trials))
	}
	return t.Trim()
}

// limits names what limited most of the trials, and in how many of them.
func limits(trials []*result.Trial) string {
	var limits format.Tally
	for _, t := range trials {
		if t.Limit != "" {
			limits.Add(t.Limit, 1)
		}
	}
	if len(limits.Words) == 0 {
		return format.Absent
	}
	most := limits.ByCount().Words[0]
	if n := limits.Add(most, 0); n < int64(len(trials)) {
		return fmt.Sprintf("%s (%d of %d)", most, n, len(trials))
	}
	return most
}

// shortOnes formats the short connections completed in all trials: "1,200 of 1,200, 3 late".
func shortOnes(trials []*result.Trial) string {
	var all result.Churn
	for _, t := range trials {
		c := churn(t)
		all.Offered, all.Done, all.Behind = all.Offered+c.Offered, all.Done+c.Done, all.Behind+c.Behind
	}
	if all.Offered == 0 {
		return format.Absent
	}
	return fmt.Sprintf("%s of %s, %s late", format.Count(all.Done), format.Count(all.Offered), format.Count(all.Behind))
}

// orAbsent formats v; 0 is unknown.
func orAbsent(v float64) string {
	if v == 0 {
		return format.Absent
	}
	return format.Sig(v)
}

// churn returns a trial's short connections, or zeros if it has none.
func churn(t *result.Trial) result.Churn {
	if t.Churn == nil {
		return result.Churn{}
	}
	return *t.Churn
}

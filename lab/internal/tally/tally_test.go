package tally

import (
	"slices"
	"testing"

	"weir/lab/result"
)

func TestDistributionCountsAndRanksTimes(t *testing.T) {
	d := NewDistribution()
	if mean := d.MeanUS(); mean != 0 {
		t.Errorf("nothing recorded: got a mean of %v us, want 0", mean)
	}
	if p := d.Percentiles(); d.Count() != 0 || p != (result.Percentiles{}) {
		t.Errorf("nothing recorded: got %d times, %+v; want 0 and no percentiles", d.Count(), p)
	}
	for _, ns := range []int64{-5, 1000, 1000, 2000} {
		d.Record(ns)
	}
	if p := d.Percentiles(); d.Count() != 4 || p.P01 != 0 || p.P50 != 1 || p.Max != 2 {
		t.Errorf("four times recorded: got %d, %+v; want 4 with P01 0, P50 1 and a maximum of 2 us", d.Count(), p)
	}
	if mean := d.MeanUS(); mean != 1 {
		t.Errorf("0, 1, 1 and 2 us recorded: got a mean of %v us, want 1", mean)
	}
}

func TestFailuresKeepTheFirstInFull(t *testing.T) {
	var f, g Failures
	f.Add("reset", 1, "connection %d", 1)
	for i := range 7 {
		g.Add("closed", 2, "connection %d", i)
	}
	f.Merge(g)
	want := []string{"connection 1", "connection 0", "connection 1", "connection 2", "connection 3"}
	if f.Kinds["reset"] != 1 || f.Kinds["closed"] != 14 || !slices.Equal(f.Details, want) {
		t.Errorf("got %v in full %q, want %q", f.Kinds, f.Details, want)
	}
}

func TestWindowHoldsTimesFromStartToEnd(t *testing.T) {
	w := NewWindow()
	if w.Holds(0) || w.Holds(Unset-1) {
		t.Error("a window that is not set holds a time, want none")
	}
	w.To.Store(20)
	w.From.Store(10)
	for at, want := range map[int64]bool{9: false, 10: true, 19: true, 20: false} {
		if w.Holds(at) != want {
			t.Errorf("a window from 10 to 20 holds %d: got %t, want %t", at, !want, want)
		}
	}
}

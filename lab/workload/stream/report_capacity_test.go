package stream

import (
	"strings"
	"testing"

	"weir/lab/report"
	"weir/lab/report/reporttest"
	"weir/lab/result"
)

func newDigest(r *result.Results) digest { return digestOf(report.NewDigest(r, Report{})) }

// TestRejectedMeasurementsAreNotUsed checks this with rejected measurements that vary by nine times
// their mean.
func TestRejectedMeasurementsAreNotUsed(t *testing.T) {
	for _, r := range newDigest(reporttest.Saturated()).capacityGroups()[0].capacities {
		top := r.shares[len(r.shares)-1]
		if e := top.medianOf(variation); e.N != 4 || len(top.rejected) != 1 || e.High >= 9 {
			t.Errorf("%s: got %+v and %d rejected, want 4 measurements and 1 rejected", r.subject, e, len(top.rejected))
		}
	}
}

// TestGrowthNeedsSeparateRanges checks that growth is reported only if the ranges do not overlap
// and have three repetitions.
func TestGrowthNeedsSeparateRanges(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, high []float64
		want      growth
	}{
		{"all above all", []float64{1, 2, 3}, []float64{4, 5, 6}, grew},
		{"one of the lower is above one of the higher", []float64{1, 2, 4.5}, []float64{4, 5, 6}, flat},
		{"all below all", []float64{4, 5, 6}, []float64{1, 2, 3}, flat},
		{"two repetitions", []float64{1, 2}, []float64{4, 5, 6}, unknown},
		{"only one share", nil, []float64{4, 5, 6}, unknown},
	} {
		r := &subjectCapacity{}
		for percent, values := range map[float64][]float64{70: c.low, 95: c.high} {
			for _, v := range values {
				r.add(result.Saturation{SharePercent: percent, CPUCV: v, Accepted: true}, false)
			}
		}
		if got, _, _ := r.growth(variation); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFormatOfACapacity(t *testing.T) {
	for _, c := range []struct {
		kept, gaveOut  float64
		generatorBound bool
		want           string
	}{
		{84_123, 88_000, false, "84,100 to 88,000"},
		{84_123, 88_000, true, "at least 84,100"},
		{84_123, 0, false, "at least 84,100"},
		{0, 31.25, false, "under 31.2"},
		{0, 31.25, true, "not found"},
		{0, 0, false, "not found"},
	} {
		r := &subjectCapacity{kept: result.Probe{Rate: c.kept}, gaveOut: result.Probe{Rate: c.gaveOut, GeneratorBound: c.generatorBound}}
		if got := r.capacity(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c, got, c.want)
		}
	}
}

// TestFieldsAreSeparate checks that no curve joins two numbers of connections or two patterns.
func TestFieldsAreSeparate(t *testing.T) {
	r := reporttest.Saturated()
	for _, m := range r.Saturation[:5] {
		m.Connections = 8
		r.Saturation = append(r.Saturation, m)
	}
	fields := newDigest(r).capacityGroups()
	if len(fields) != 2 || len(fields[0].capacities) != 3 || len(fields[1].capacities) != 1 {
		t.Fatalf("got %d fields, want 2 with 3 subjects and 1", len(fields))
	}
	for _, figure := range fields[1].figures() {
		if !strings.Contains(figure.Name, "-8-") {
			t.Errorf("got the figure name %s, want one with the 8 connections", figure.Name)
		}
	}
}

package load

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/lab/internal/tally"
	"weir/lab/result"
)

// reportOf returns the report of a load whose messages had these latencies and latenesses, and that
// was offered one message more.
func reportOf(latencies, latenesses []int64) Report {
	latency, lateness := tally.NewDistribution(), tally.NewDistribution()
	for _, ns := range latencies {
		latency.Record(ns)
	}
	for _, ns := range latenesses {
		lateness.Record(ns)
	}
	n := int64(len(latencies))
	r := Report{Offered: n + 1, Answered: n, Failed: 1, Messages: n, Bytes: 10 * n, Errors: map[string]int64{"late": n}, CPUNS: n, WindowNS: 1e9, StartedNS: 5,
		LatencyUS: latency.Percentiles(), LatenessUS: lateness.Percentiles()}
	r.SetRates(r.WindowNS)
	r.SetHistogram("latency", latency)
	r.SetHistogram("lateness", lateness)
	return r
}

// TestSplitLoadsMergeToTheSamePercentiles: however the messages of a load are split over several
// reports, merging these gives the figures of one report of all. A case is slow with the
// race detector, so there are few, from fixed seeds.
func TestSplitLoadsMergeToTheSamePercentiles(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		times := func() (ns []int64) {
			for range random.IntN(60) {
				ns = append(ns, random.Int64N(int64(1)<<random.IntN(40))-10)
			}
			return ns
		}
		parts := make([]Report, 1+random.IntN(4))
		var latencies, latenesses []int64
		for i := range parts {
			part, late := times(), times()
			parts[i] = reportOf(part, late)
			latencies, latenesses = append(latencies, part...), append(latenesses, late...)
		}
		want := reportOf(latencies, latenesses)
		got, err := Merge(parts...)
		if err != nil {
			t.Fatal(err)
		}
		if got.LatencyUS != want.LatencyUS || got.LatenessUS != want.LatenessUS || !maps.Equal(got.Histograms, want.Histograms) {
			t.Errorf("got latency %+v, lateness %+v; want %+v, %+v, as of one report", got.LatencyUS, got.LatenessUS, want.LatencyUS, want.LatenessUS)
		}
		if n := int64(len(latencies)); got.Messages != n || got.Offered != n+int64(len(parts)) || got.Bytes != 10*n || got.CPUNS != n || got.Errors["late"] != n || got.WindowNS != 1e9 || got.StartedNS != 5 {
			t.Errorf("got %+v, want sums of %d messages, and the window of each part", got, n)
		}
		if ratio := Ratio(got.Messages, got.Offered); got.AchievedRatio < ratio-1e-9 || got.AchievedRatio > ratio+1e-9 {
			t.Errorf("got a ratio of %v, want %v", got.AchievedRatio, ratio)
		}
	}
}

func TestReportsWithoutHistogramsAreNotMerged(t *testing.T) {
	whole, without, broken := reportOf([]int64{1000}, nil), Report{LatencyUS: result.Percentiles{P50: 1}}, reportOf([]int64{1000}, nil)
	broken.Histograms["latency"] = "HIST"
	for want, r := range map[string]Report{"report 1 has no histogram of its latency: run its load with --histograms": without, "report 1: its histogram of the latency is invalid": broken} {
		if _, err := Merge(whole, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

func TestMergedReportsKeepTheFirstErrorsInFull(t *testing.T) {
	r := Report{Details: []string{"a", "b", "c"}, Interrupt: true, StartedNS: 7, WindowNS: 1}
	got, err := Merge(Report{StartedNS: 9, WindowNS: 2}, r, r)
	if err != nil || len(got.Details) != tally.DetailsKept || !got.Interrupt || got.StartedNS != 7 || got.WindowNS != 2 {
		t.Errorf("got error %v, %+v; want five errors in full, interrupted, started at 7, the longer window", err, got)
	}
}

func TestReportsThatNoGeneratorMakesAreNotMerged(t *testing.T) {
	kinds := map[string]int64{}
	for i := range maxKinds + 1 {
		kinds[strings.Repeat("a", i)] = 1
	}
	for name, r := range map[string]Report{
		"negative count":     {Messages: -1},
		"overflowing count":  {Bytes: maxCount + 1},
		"negative rate":      {OfferedRate: -1},
		"too many errors":    {Errors: kinds},
		"long kind of error": {Errors: map[string]int64{strings.Repeat("a", maxErrorText+1): 1}},
		"long error":         {Details: []string{strings.Repeat("a", maxErrorText+1)}},
		"negative errors":    {Errors: map[string]int64{"a": -1}},
	} {
		if _, err := Merge(Report{}, r); err == nil || !strings.Contains(err.Error(), "report 1") {
			t.Errorf("%s: got error %v, want one about report 1", name, err)
		}
	}
}

func TestTextsOfMergedReportsDoNotControlTheTerminal(t *testing.T) {
	got, err := Merge(Report{Errors: map[string]int64{"a\x1b[2J": 1, "a\x1c[2J": 2}, Details: []string{"b\nc"}})
	if err != nil || got.Errors["a\ufffd[2J"] != 3 || len(got.Errors) != 1 || got.Details[0] != "b\ufffdc" {
		t.Errorf("got %+v, error %v; want printable texts", got, err)
	}
}

func TestEncodedReportsAreMerged(t *testing.T) {
	first, second := json.RawMessage(`{"messages":2}`), json.RawMessage(`{"messages":3}`)
	text, err := MergeJSON(Merge, []json.RawMessage{first, second})
	var r Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.Messages != 5 {
		t.Errorf("got %s, error %v; want 5 messages", text, err)
	}
	for _, bad := range []string{"", "{", "[]", `{"messages":"many"}`, `{"messages":1e400}`, `{"messages":-1}`} {
		if _, err := MergeJSON(Merge, []json.RawMessage{first, json.RawMessage(bad)}); err == nil || !strings.Contains(err.Error(), "report 1") {
			t.Errorf("%q: got error %v, want one about report 1", bad, err)
		}
	}
}

package stream

import (
	"encoding/json"
	"testing"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/stream/streamload"
)

func TestShortConnectionsCountBesideMessages(t *testing.T) {
	report, err := json.Marshal(streamload.Report{
		Report: load.Report{Offered: 100, Messages: 90, AchievedRatio: 0.9, OfferedRate: 50, Bytes: 900, Behind: 2, WindowNS: 2e9, CPUNS: 1e6},
		Size:   10, Churn: &streamload.ChurnReport{Offered: 20, Done: 10, Behind: 3}})
	if err != nil {
		t.Fatal(err)
	}
	trial := result.Trial{Messages: 90, AchievedRatio: 0.9, OfferedRate: 50, Bytes: 900, Behind: 2, WindowS: 2}
	if err := (session{}).Fill(&trial, &Load{}, workload.Measured{Report: report}); err != nil {
		t.Fatal(err)
	}
	if trial.Messages != 100 || trial.Bytes != 1000 || trial.Behind != 5 || trial.OfferedRate != 60 || trial.AchievedRatio != 100.0/120 || trial.LoadUSPerMsg != 10 {
		t.Errorf("90 of 100 messages and 10 of 20 short connections in 2 s: got %+v, want 100 messages, 1000 bytes, 5 behind, 60 messages/s and a ratio of 100/120", trial)
	}
	if *trial.Churn != (result.Churn{Offered: 20, Done: 10, Behind: 3}) {
		t.Errorf("got short connections %+v; want 10 of 20 done with 3 behind", trial.Churn)
	}
}

func TestSearchStaysWithinTheGeneratorsLimit(t *testing.T) {
	for _, n := range []int{1, 2, 64} {
		total := (Workload{Echo: true}).Traits().MaxRate(n)
		c := streamload.Config{Target: "127.0.0.1:1", Connections: n, Rate: total / float64(n), Size: 100}
		if err := c.Check(true); err != nil {
			t.Errorf("%d connections at the largest rate offered: got error %v, want a valid load", n, err)
		}
	}
}

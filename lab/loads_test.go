package lab

import (
	"testing"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload/stream/streamload"
)

// TestShortAndIdleConnectionsAreALoad: they warm a subject up, and are counted and accounted for,
// as any other.
func TestShortAndIdleConnectionsAreALoad(t *testing.T) {
	b := newBench(t, 0)
	b.experiment.Connections = []int{0}
	b.experiment.Loads = []Load{{Name: "churn", Size: 100, Churn: 100, Idle: 3}}
	found, err := b.run(t.Context(), nil)
	must(t, err)
	for _, trial := range found.Trials {
		checkTrial(t, trial)
		c := trial.Churn
		if c == nil || c.Offered != 30 || trial.Messages != c.Done || trial.Bytes != 100*c.Done || trial.OfferedRate != 100 {
			t.Errorf("trial %d: got %v messages/s offered, %d sent, short connections %+v; want 100 offered, 30 short connections and a message of 100 bytes in each", trial.ID, trial.OfferedRate, trial.Messages, c)
		}
	}
	if len(found.Trials) == 0 || found.Plan.Loads[0].Churn != 100 || found.Plan.Loads[0].Idle != 3 {
		t.Errorf("got %d trials of %+v, want some of a load with 100 short connections/s and 3 idle ones", len(found.Trials), found.Plan.Loads)
	}
}

func TestShortConnectionsCountBesideMessages(t *testing.T) {
	var trial result.Trial
	fillLoad(&trial, streamload.Report{Size: 10, Report: load.Report{Offered: 100, Messages: 90, AchievedRatio: 0.9, OfferedRate: 50, Bytes: 900, Behind: 2, WindowNS: 2e9, CPUNS: 1e6,
		SpreadUS: result.Percentiles{P50: 7}}, Churn: &streamload.ChurnReport{Offered: 20, Done: 10, Behind: 3}})
	if trial.Messages != 100 || trial.Bytes != 1000 || trial.Behind != 5 || trial.OfferedRate != 60 || trial.AchievedRatio != 100.0/120 || trial.LoadUSPerMsg != 10 {
		t.Errorf("90 of 100 messages and 10 of 20 short connections in 2 s: got %+v, want 100 messages, 1000 bytes, 5 behind, 60 messages/s and a ratio of 100/120", trial)
	}
	if trial.SpreadUS.P50 != 7 || *trial.Churn != (result.Churn{Offered: 20, Done: 10, Behind: 3}) {
		t.Errorf("got spread %+v, short connections %+v; want a P50 of 7, and 10 of 20 done with 3 behind", trial.SpreadUS, trial.Churn)
	}
}

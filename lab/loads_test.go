package lab

import (
	"testing"
	"weir/lab/workload"
	"weir/lab/workload/stream"
)

// TestShortAndIdleConnectionsAreALoad: they warm a subject up, and are counted and accounted for,
// as any other.
func TestShortAndIdleConnectionsAreALoad(t *testing.T) {
	b := newBench(t, 0)
	b.experiment.Connections = []int{0}
	b.experiment.Loads = []workload.Load{&stream.Load{Common: workload.Common{Name: "churn"}, Size: 100, Churn: 100, Idle: 3}}
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

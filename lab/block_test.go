package lab

import (
	"testing"

	"weir/lab/result"
	"weir/lab/subject"
)

// TestARunEndsAfterTheBlockThatItsCallerWants also gives the run a subject as a value, and one
// attempt for each trial.
func TestARunEndsAfterTheBlockThatItsCallerWants(t *testing.T) {
	b := newBench(t, 0)
	given, err := subject.Select(b.options.Root, b.experiment.Subjects, nil)
	must(t, err)
	none := false
	b.experiment.Subjects, b.experiment.Blocks, b.experiment.AAControl = nil, 5, &none
	blocks := 0
	b.options.Subjects, b.options.Attempts = given, 1
	b.options.AfterBlock = func(r *result.Results) bool {
		blocks++
		if len(r.Trials) != 2*blocks {
			t.Errorf("after block %d: got %d trials, want 2 for each", blocks, len(r.Trials))
		}
		return blocks == 2
	}
	found, err := b.run(t.Context(), nil)
	if err != nil || blocks != 2 || len(found.Trials) != 4 || found.Subjects[0].Name != "server-0" {
		t.Errorf("got %v, %d blocks, %d trials of %v, want 2 blocks of 2 trials of server-0", err, blocks, len(found.Trials), found.Subjects)
	}
}

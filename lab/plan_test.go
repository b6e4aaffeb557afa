package lab

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/stream"
)

func drawPlan(t *rapid.T) Plan {
	e := &Experiment{Name: "test", Settings: Settings{
		Connections: rapid.SliceOfNDistinct(rapid.IntRange(1, 64), 1, 4, rapid.ID).Draw(t, "connections"),
		Patterns:    rapid.Permutation(load.Patterns).Draw(t, "patterns")[:rapid.IntRange(1, 3).Draw(t, "number of patterns")],
		Blocks:      rapid.IntRange(1, 5).Draw(t, "blocks"),
		Loads:       []workload.Load{&stream.Load{Common: workload.Common{Name: "messages", Rate: 125}, Size: 1000}},
		Subjects:    []string{"any"},
	}}
	control := rapid.Bool().Draw(t, "twin")
	e.AAControl = &control
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	var subjects []result.Subject
	for _, name := range []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "subjects")] {
		subjects = append(subjects, result.Subject{Name: name, Elsewhere: rapid.Bool().Draw(t, "elsewhere")})
	}
	return NewPlan(e, subjects, rapid.Uint64().Draw(t, "seed"))
}

func TestEveryBlockIsAPalindromeOfAllSubjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		for block := range p.All() {
			n := len(block)
			if n != p.BlockLen(block[0].Cell) {
				t.Fatalf("got a block of %d trials, want %d", n, p.BlockLen(block[0].Cell))
			}
			seen := map[string]int{}
			for i, place := range block {
				if place.Subject != block[n-1-i].Subject {
					t.Fatalf("position %d: got %s, mirrored %s, want equal", i, place.Subject, block[n-1-i].Subject)
				}
				if place.Position != i || place.Cell != block[0].Cell || place.Block != block[0].Block {
					t.Fatalf("place %d of the block: got %+v, want position %d in cell %+v, block %d", i, place, i, block[0].Cell, block[0].Block)
				}
				seen[place.Subject]++
			}
			for _, s := range p.participants(block[0].Cell) {
				if seen[s] != 2 {
					t.Fatalf("%s: got %d times in a block, want 2", s, seen[s])
				}
			}
		}
	})
}

// TestCellsWithMostConnectionsGetMoreBlocks: rounds beyond Blocks hold only these cells.
func TestCellsWithMostConnectionsGetMoreBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		p.BusiestBlocks = rapid.IntRange(0, 8).Draw(t, "busiest")
		most := 0
		for _, c := range p.Cells {
			most = max(most, c.Connections)
		}
		blocks, trials := map[workload.Cell]int{}, 0
		for block := range p.All() {
			blocks[block[0].Cell]++
			trials += len(block)
		}
		for _, c := range p.Cells {
			want := p.Blocks
			if c.Connections == most {
				want = max(want, p.BusiestBlocks)
			}
			if blocks[c] != want {
				t.Fatalf("%+v: got %d blocks, want %d", c, blocks[c], want)
			}
		}
		if trials != p.Trials() {
			t.Fatalf("got %d trials, want the announced %d", trials, p.Trials())
		}
	})
}

func TestEveryRoundHoldsOneBlockOfEachCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		count := map[workload.Cell]int{}
		trials := 0
		for block := range p.All() {
			if block[0].Block != count[block[0].Cell] {
				t.Fatalf("got block %d of %+v after %d others, want consecutive numbers", block[0].Block, block[0].Cell, count[block[0].Cell])
			}
			count[block[0].Cell]++
			trials += len(block)
			for _, c := range p.Cells {
				if d := count[c] - count[block[0].Cell]; d < -1 || d > 1 {
					t.Fatalf("got cells %d blocks apart, want at most 1", d)
				}
			}
		}
		if trials != p.Trials() {
			t.Fatalf("got %d trials, want Trials() = %d", trials, p.Trials())
		}
	})
}

func TestTheSameSeedGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		again := p
		if !reflect.DeepEqual(slices.Collect(p.All()), slices.Collect(again.All())) {
			t.Fatal("two iterations over one plan differ, want them equal")
		}
	})
}

func TestAAControlHasMeasuredCPU(t *testing.T) {
	yes := true
	e := &Experiment{Settings: Settings{AAControl: &yes}}
	for seed := range uint64(50) {
		p := NewPlan(e, []result.Subject{{Name: "target a", Elsewhere: true}, {Name: "b"}, {Name: "target c", Elsewhere: true}}, seed)
		if p.AAControl != "b" {
			t.Fatalf("seed %d: got A/A control %q, want one with measured CPU", seed, p.AAControl)
		}
	}
	if p := NewPlan(e, []result.Subject{{Name: "target a", Elsewhere: true}}, 1); p.AAControl != "" {
		t.Errorf("targets only: got A/A control %q, want none", p.AAControl)
	}
}

func TestPlaceIsFinishedByAcceptanceFailureOrLastAttempt(t *testing.T) {
	trial := func(position, attempt int, accepted bool) result.Trial {
		return result.Trial{Subject: "a", Load: "l", Connections: 1, Pattern: "poisson", Position: position, Attempt: attempt, Accepted: accepted}
	}
	failed := trial(4, 1, false)
	failed.FailedBecause = []string{"load error: wrong byte, 3 times"}
	headlines, last := trial(5, maxAttempts, false), trial(6, maxHeadlineAttempts, false)
	headlines.Block, last.Block = result.FirstHeadlineBlock, result.FirstHeadlineBlock
	d := finishedPlaces([]result.Trial{trial(0, 1, true), trial(1, 1, false), trial(1, 2, true), trial(2, 1, false), trial(3, maxAttempts, false), failed, headlines, last})
	for position, want := range []bool{true, true, false, true, true, false, true, false} {
		p := Place{Cell: workload.Cell{Load: "l", Connections: 1, Pattern: "poisson"}, Position: position, Subject: "a"}
		if position >= 5 {
			p.Block = result.FirstHeadlineBlock
		}
		if got := d[p]; got != want {
			t.Errorf("position %d: got finished %v, want %v", position, got, want)
		}
	}
}

// TestLoadWithOneBlockHasNoControl: one block gives no interval of a subject and its control.
func TestLoadWithOneBlockHasNoControl(t *testing.T) {
	cell := workload.Cell{Load: "l", Connections: 1, Pattern: "poisson"}
	for blocks, want := range map[int]int{0: 6, 1: 4, 2: 6} {
		p := Plan{Subjects: []string{"a", "b"}, AAControl: "a", LoadBlocks: map[string]int{"l": blocks}}
		if got := p.BlockLen(cell); got != want {
			t.Errorf("a limit of %d blocks: got %d trials in a block, want %d", blocks, got, want)
		}
	}
}

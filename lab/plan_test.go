package lab

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/lab/load"
	"weir/lab/result"
)

func drawPlan(t *rapid.T) Plan {
	e := &Experiment{Name: "test", Settings: Settings{
		Connections: rapid.SliceOfNDistinct(rapid.IntRange(1, 64), 1, 4, rapid.ID).Draw(t, "connections"),
		Patterns:    rapid.Permutation(load.Patterns).Draw(t, "patterns")[:rapid.IntRange(1, 3).Draw(t, "number of patterns")],
		Blocks:      rapid.IntRange(1, 5).Draw(t, "blocks"),
		Loads:       []Load{{Name: "messages", Rate: 125, Size: 1000}},
		Subjects:    []string{"any"},
	}}
	twin := rapid.Bool().Draw(t, "twin")
	e.Twin = &twin
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
				t.Fatalf("a block of %d trials, want %d", n, p.BlockLen(block[0].Cell))
			}
			seen := map[string]int{}
			for i, place := range block {
				if place.Subject != block[n-1-i].Subject {
					t.Fatalf("position %d holds %s and its mirror %s", i, place.Subject, block[n-1-i].Subject)
				}
				if place.Position != i || place.Cell != block[0].Cell || place.Block != block[0].Block {
					t.Fatalf("place %d of the block is %+v", i, place)
				}
				seen[place.Subject]++
			}
			for _, s := range p.takingPart(block[0].Cell) {
				if seen[s] != 2 {
					t.Fatalf("%s stands %d times in a block, want 2", s, seen[s])
				}
			}
		}
	})
}

// TestTheBusiestCellsGetMoreBlocks: rounds beyond Blocks hold the cells with the most connections
// alone.
func TestTheBusiestCellsGetMoreBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		p.Busiest = rapid.IntRange(0, 8).Draw(t, "busiest")
		most := 0
		for _, c := range p.Cells {
			most = max(most, c.Connections)
		}
		blocks, trials := map[Cell]int{}, 0
		for block := range p.All() {
			blocks[block[0].Cell]++
			trials += len(block)
		}
		for _, c := range p.Cells {
			want := p.Blocks
			if c.Connections == most {
				want = max(want, p.Busiest)
			}
			if blocks[c] != want {
				t.Fatalf("%+v has %d blocks, want %d", c, blocks[c], want)
			}
		}
		if trials != p.Trials() {
			t.Fatalf("%d trials, announced %d", trials, p.Trials())
		}
	})
}

func TestEveryRoundHoldsOneBlockOfEachCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		count := map[Cell]int{}
		trials := 0
		for block := range p.All() {
			if block[0].Block != count[block[0].Cell] {
				t.Fatalf("block %d of %+v comes after %d others", block[0].Block, block[0].Cell, count[block[0].Cell])
			}
			count[block[0].Cell]++
			trials += len(block)
			for _, c := range p.Cells {
				if d := count[c] - count[block[0].Cell]; d < -1 || d > 1 {
					t.Fatalf("cells are %d blocks apart", d)
				}
			}
		}
		if trials != p.Trials() {
			t.Fatalf("%d trials, and Trials() says %d", trials, p.Trials())
		}
	})
}

func TestTheSameSeedGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		again := p
		if !reflect.DeepEqual(slices.Collect(p.All()), slices.Collect(again.All())) {
			t.Fatal("two walks over one plan differ")
		}
	})
}

func TestTheTwinIsOneWhoseCPUIsMeasured(t *testing.T) {
	yes := true
	e := &Experiment{Settings: Settings{Twin: &yes}}
	for seed := range uint64(50) {
		p := NewPlan(e, []result.Subject{{Name: "target a", Elsewhere: true}, {Name: "b"}, {Name: "target c", Elsewhere: true}}, seed)
		if p.Twin != "b" {
			t.Fatalf("seed %d: the twin is %q", seed, p.Twin)
		}
	}
	if p := NewPlan(e, []result.Subject{{Name: "target a", Elsewhere: true}}, 1); p.Twin != "" {
		t.Errorf("of a target alone the twin is %q", p.Twin)
	}
}

func TestAPlaceIsDoneWhenATrialWasAcceptedOrFailedOrAllAttemptsRefused(t *testing.T) {
	trial := func(position, attempt int, accepted bool) result.Trial {
		return result.Trial{Subject: "a", Load: "l", Connections: 1, Pattern: "poisson", Position: position, Attempt: attempt, Accepted: accepted}
	}
	failed := trial(4, 1, false)
	failed.FailedBecause = []string{"load error: wrong byte, 3 times"}
	d := done([]result.Trial{trial(0, 1, true), trial(1, 1, false), trial(1, 2, true), trial(2, 1, false), trial(3, maxAttempts, false), failed})
	for position, want := range []bool{true, true, false, true, true, false} {
		if got := d[Place{Cell: Cell{"l", 1, "poisson"}, Position: position, Subject: "a"}]; got != want {
			t.Errorf("position %d: done is %v, want %v", position, got, want)
		}
	}
}

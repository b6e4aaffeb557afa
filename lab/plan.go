package lab

import (
	"iter"
	"math/rand/v2"
	"slices"

	"weir/lab/result"
)

// A Cell is a load that every subject of a run meets.
type Cell struct {
	Load        string
	Connections int
	Pattern     string
}

// A Place is one trial to be run: one subject at one position of one block of one cell.
type Place struct {
	Cell
	Block    int
	Position int
	Subject  string // with result.TwinSuffix for the twin
}

// A Plan is the order in which the trials of a run take place. It depends on its fields alone, so
// that an interrupted run finds its way back.
//
// The unit is the block: every subject once in random order, then once more in the mirrored order,
// all in the same cell. Whatever drifts evenly while a block runs falls on all subjects alike. A
// round holds one block of each cell, in random order, so that a run that is cut short has about
// the same number of blocks everywhere; rounds beyond Blocks hold the cells with the most
// connections alone.
type Plan struct {
	Seed     uint64
	Cells    []Cell
	Subjects []string
	Twin     string // one of Subjects, which takes part twice; empty: none
	Blocks   int    // in each cell
	Busiest  int    // in the cells with the most connections, where that is more than Blocks

	// of Subjects, those that meet the load of this name; a load that is not in it meets all
	Only   map[string][]string
	Fewest map[string]int // blocks in each cell of the load of this name, where that is fewer
}

// NewPlan lays out an experiment's cells for the given subjects. With a twin wanted, the seed
// chooses it among those whose CPU is measured: only these are compared.
func NewPlan(e *Experiment, subjects []result.Subject, seed uint64) Plan {
	p := Plan{Seed: seed, Subjects: subjectNames(subjects), Blocks: e.Blocks, Busiest: e.Busiest, Only: map[string][]string{}, Fewest: map[string]int{}}
	measured := subjectNames(slices.DeleteFunc(slices.Clone(subjects), func(s result.Subject) bool { return s.Elsewhere }))
	for _, l := range e.Loads {
		p.limit(l)
		for _, n := range e.connectionsOf(l) {
			for _, pattern := range e.patternsOf(l) {
				if c := (Cell{Load: l.Name, Connections: n, Pattern: pattern}); len(p.meeting(c)) > 0 || len(subjects) == 0 {
					p.Cells = append(p.Cells, c)
				}
			}
		}
	}
	if *e.Twin && len(measured) > 0 {
		p.Twin = measured[p.random(0).IntN(len(measured))]
	}
	return p
}

// patternsOf is the patterns that a load comes in.
func (e *Experiment) patternsOf(l Load) []string {
	if e.ownPatterns() {
		return []string{l.pattern()}
	}
	return e.Patterns
}

// limit keeps what l says of who meets it, and how often.
func (p Plan) limit(l Load) {
	if len(l.Subjects) > 0 {
		p.Only[l.Name] = slices.DeleteFunc(slices.Clone(p.Subjects), func(s string) bool { return !slices.Contains(l.Subjects, s) })
	}
	if l.Blocks > 0 {
		p.Fewest[l.Name] = l.Blocks
	}
}

// random gives each purpose a stream of its own, so that skipping what is already done changes
// nothing about what follows.
func (p Plan) random(purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, purpose))
}

// BlockLen is the number of trials in a block of c.
func (p Plan) BlockLen(c Cell) int { return 2 * len(p.takingPart(c)) }

// Trials is the number of trials in the whole plan.
func (p Plan) Trials() int {
	trials := 0
	for round := range p.rounds() {
		for _, c := range p.cellsOf(round) {
			trials += p.BlockLen(c)
		}
	}
	return trials
}

func (p Plan) rounds() int { return max(p.Blocks, p.Busiest) }

// cellsOf is the cells that a round holds a block of.
func (p Plan) cellsOf(round int) []Cell {
	most := 0
	for _, c := range p.Cells {
		most = max(most, c.Connections)
	}
	return slices.DeleteFunc(slices.Clone(p.Cells), func(c Cell) bool {
		fewest, few := p.Fewest[c.Load]
		return few && round >= fewest || round >= p.Blocks && c.Connections < most
	})
}

// meeting is the subjects that meet the load of c, without the twin. It is not for the caller to
// change.
func (p Plan) meeting(c Cell) []string {
	if only, ok := p.Only[c.Load]; ok {
		return only
	}
	return p.Subjects
}

// takingPart is the subjects of c's blocks. It is the caller's own slice.
func (p Plan) takingPart(c Cell) []string {
	all := slices.Clone(p.meeting(c))
	if p.Twin != "" && slices.Contains(all, p.Twin) {
		all = append(all, p.Twin+result.TwinSuffix)
	}
	return all
}

// All yields the blocks of the plan in order.
func (p Plan) All() iter.Seq[[]Place] {
	return func(yield func([]Place) bool) {
		for round := range p.rounds() {
			r, cells := p.random(uint64(round)+1), p.cellsOf(round)
			for _, c := range r.Perm(len(cells)) {
				if !yield(p.block(r, cells[c], round)) {
					return
				}
			}
		}
	}
}

func (p Plan) block(r *rand.Rand, c Cell, number int) []Place {
	order := p.takingPart(c)
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	places := make([]Place, 0, 2*len(order))
	for _, s := range order {
		places = append(places, Place{Cell: c, Block: number, Position: len(places), Subject: s})
	}
	for _, s := range slices.Backward(order) {
		places = append(places, Place{Cell: c, Block: number, Position: len(places), Subject: s})
	}
	return places
}

// done says which places need no further trial.
func done(trials []result.Trial) map[Place]bool {
	m := map[Place]bool{}
	for _, t := range trials {
		if settled(&t) {
			m[placeOf(t)] = true
		}
	}
	return m
}

func placeOf(t result.Trial) Place {
	return Place{Cell: Cell{t.Load, t.Connections, t.Pattern}, Block: t.Block, Position: t.Position, Subject: t.Subject}
}

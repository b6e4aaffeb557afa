package lab

import (
	"iter"
	"math/rand/v2"
	"slices"

	"weir/lab/result"
	"weir/lab/workload"
)

// A Place is one trial of the plan: one subject at one position of one block of one cell.
type Place struct {
	workload.Cell
	Block    int
	Position int
	Subject  string // with result.ControlSuffix for the A/A control
}

// A Plan is the order in which the trials of a run take place. It depends on its fields alone, so
// that an interrupted run can be resumed.
//
// The unit is the block: every subject once in random order, then once more in the mirrored order,
// all in the same cell. A linear drift of the machine during a block thus affects all subjects
// equally. A round holds one block of each cell, in random order, so that an interrupted run has
// about the same number of blocks in each cell. Rounds beyond Blocks hold only the cells with the
// most connections.
type Plan struct {
	Seed      uint64
	Cells     []workload.Cell
	Subjects  []string
	AAControl string           // the one of Subjects that takes part twice; empty: none
	Headline  *result.Headline // what is compared first; nil: none
	Blocks    int              // blocks in each cell
	// blocks in the cells with the most connections; used where it is more than Blocks
	BusiestBlocks int

	// by load name: the Subjects that meet the load; a load that is not listed meets all
	LoadSubjects map[string][]string
	LoadBlocks   map[string]int // by load name: the limit on the blocks in each of its cells

	order Order // of the subjects in a block's first half; nil: every order is equally likely
}

// An Order orders the subjects of a block, in place and at random. It depends on nothing else.
type Order func(r *rand.Rand, subjects []string)

// NewPlan computes an experiment's cells and headline for the given subjects. If an A/A control is
// wanted, the seed selects it among the subjects of the headline. Their CPU is measured; without a
// headline the control is any subject whose CPU is.
func NewPlan(e *Experiment, subjects []result.Subject, seed uint64) Plan {
	p := Plan{Seed: seed, Subjects: subjectNames(subjects), Blocks: e.Blocks, BusiestBlocks: e.BusiestBlocks, LoadSubjects: map[string][]string{}, LoadBlocks: map[string]int{}}
	measured := subjectNames(slices.DeleteFunc(slices.Clone(subjects), func(s result.Subject) bool { return s.Elsewhere }))
	for _, l := range e.Loads {
		p.addLimits(l.Shared())
		for _, n := range e.connectionsOf(l) {
			for _, pattern := range e.patternsOf(l) {
				if c := (workload.Cell{Load: l.Shared().Name, Connections: n, Pattern: pattern}); len(p.subjectsFor(c)) > 0 || len(subjects) == 0 {
					p.Cells = append(p.Cells, c)
				}
			}
		}
	}
	candidates := measured
	if p.Headline = p.chooseHeadline(e, measured); p.Headline != nil {
		candidates = []string{p.Headline.A, p.Headline.B}
	}
	if *e.AAControl && len(candidates) > 0 {
		p.AAControl = candidates[p.randomStream(0).IntN(len(candidates))]
	}
	return p
}

// addLimits records the subjects and blocks that l is limited to.
func (p Plan) addLimits(l *workload.Common) {
	if len(l.Subjects) > 0 {
		p.LoadSubjects[l.Name] = slices.DeleteFunc(slices.Clone(p.Subjects), func(s string) bool { return !slices.Contains(l.Subjects, s) })
	}
	if l.Blocks > 0 {
		p.LoadBlocks[l.Name] = l.Blocks
	}
}

// randomStream returns a separate random stream for each purpose, so that skipping finished trials
// does not change what follows.
func (p Plan) randomStream(purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, purpose))
}

// BlockLen is the number of trials in a block of c.
func (p Plan) BlockLen(c workload.Cell) int { return 2 * len(p.participants(c)) }

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

func (p Plan) rounds() int { return max(p.Blocks, p.BusiestBlocks) }

// cellsOf returns the cells that have a block in a round.
func (p Plan) cellsOf(round int) []workload.Cell {
	most := 0
	for _, c := range p.Cells {
		most = max(most, c.Connections)
	}
	return slices.DeleteFunc(slices.Clone(p.Cells), func(c workload.Cell) bool {
		fewest, few := p.LoadBlocks[c.Load]
		return few && round >= fewest || round >= p.Blocks && c.Connections < most
	})
}

// subjectsFor returns the subjects that meet the load of c, without the A/A control. The caller
// must not change the slice.
func (p Plan) subjectsFor(c workload.Cell) []string {
	if only, ok := p.LoadSubjects[c.Load]; ok {
		return only
	}
	return p.Subjects
}

// participants returns the subjects in c's blocks, with the A/A control. A load that is limited to
// one block has no control, because one block gives no interval. The caller owns the slice.
func (p Plan) participants(c workload.Cell) []string {
	all := slices.Clone(p.subjectsFor(c))
	if p.AAControl != "" && p.LoadBlocks[c.Load] != 1 && slices.Contains(all, p.AAControl) {
		all = append(all, p.AAControl+result.ControlSuffix)
	}
	return all
}

// All yields the blocks of the plan in order.
func (p Plan) All() iter.Seq[[]Place] {
	return func(yield func([]Place) bool) {
		for round := range p.rounds() {
			r, cells := p.randomStream(uint64(round)+1), p.cellsOf(round)
			for _, c := range r.Perm(len(cells)) {
				if !yield(p.block(r, cells[c], round)) {
					return
				}
			}
		}
	}
}

func (p Plan) block(r *rand.Rand, c workload.Cell, number int) []Place {
	return p.palindrome(r, c, number, p.participants(c))
}

// headlineBlock returns a block of the headline's two subjects, and of the A/A control if it is one
// of them. Its number counts from 0. The plan has a headline.
func (p Plan) headlineBlock(number int) []Place {
	h := p.Headline
	order := []string{h.A, h.B}
	if slices.Contains(order, p.AAControl) {
		order = append(order, p.AAControl+result.ControlSuffix)
	}
	c := workload.Cell{Load: h.Load, Connections: h.Connections, Pattern: h.Pattern}
	number += result.FirstHeadlineBlock
	return p.palindrome(p.randomStream(uint64(number)+1), c, number, order)
}

// palindrome returns a block of subjects in the plan's order, then in the mirrored one.
func (p Plan) palindrome(r *rand.Rand, c workload.Cell, number int, order []string) []Place {
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	if p.order != nil {
		p.order(r, order)
	}
	places := make([]Place, 0, 2*len(order))
	for _, s := range order {
		places = append(places, Place{Cell: c, Block: number, Position: len(places), Subject: s})
	}
	for _, s := range slices.Backward(order) {
		places = append(places, Place{Cell: c, Block: number, Position: len(places), Subject: s})
	}
	return places
}

// finishedPlaces returns the places that need no further trial.
func finishedPlaces(trials []result.Trial) map[Place]bool {
	m := map[Place]bool{}
	for _, t := range trials {
		if isFinal(&t) {
			m[placeOf(t)] = true
		}
	}
	return m
}

func placeOf(t result.Trial) Place {
	return Place{Cell: workload.Cell{Load: t.Load, Connections: t.Connections, Pattern: t.Pattern}, Block: t.Block, Position: t.Position, Subject: t.Subject}
}

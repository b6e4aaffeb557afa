package compare

import (
	"cmp"
	"slices"

	"weir/lab/result"
	"weir/lab/stat"
)

// A Rank is a subject's place among the others under one load.
type Rank struct {
	Place   int // 1 for the cheapest; subjects that nothing tells apart may share a place
	Subject string
	CPU     float64 // microseconds of CPU a message: geometric mean of the accepted trials
}

// Order ranks the subjects by CPU per message under one load. A subject's place is one more than the
// number of subjects that are cheaper and called different from it, so that a place is only ever lost to
// a difference that was found. Where two are not called different they need not share a place: a third may be
// told apart from one of them and not from the other.
func Order(r *result.Results, load string, connections int, pattern string) []Rank {
	c := cell{load, connections, pattern}
	trials := c.trials(r, metrics[0].of)
	cheaper := map[string]int{}
	for _, v := range family(r, c, CPU, metrics[0].of) {
		switch {
		case v.Twin || v.Verdict != stat.Different:
		case v.Ratio < 1:
			cheaper[v.B]++
		default:
			cheaper[v.A]++
		}
	}
	var ranks []Rank
	for _, name := range subjects(r) {
		if len(trials[name]) > 0 {
			ranks = append(ranks, Rank{1 + cheaper[name], name, stat.Mean(values(trials[name]))})
		}
	}
	slices.SortStableFunc(ranks, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.CPU, b.CPU))
	})
	return ranks
}

func values(trials []stat.Trial) []float64 {
	v := make([]float64, len(trials))
	for i, t := range trials {
		v[i] = t.Value
	}
	return v
}

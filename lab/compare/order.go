package compare

import (
	"cmp"
	"slices"

	"weir/lab/result"
	"weir/lab/stat"
)

// A Rank is a subject's place in the order of one cell.
type Rank struct {
	Place   int // 1 for the lowest CPU; subjects may share a place
	Subject string
	CPU     float64 // CPU per message in us: geometric mean of the accepted trials
}

// Order ranks the subjects of a cell by CPU per message. A subject's place is one more than the
// number of subjects that used significantly less, so only a significant difference lowers a
// place. Two subjects that are not significantly different need not share a place: a third may
// differ significantly from only one of them.
func (k Kind) Order(r *result.Results, load string, connections int, pattern string) []Rank {
	trials := cell{load, connections, pattern}.trials(r)
	cheaper := map[string]int{}
	for _, v := range k.All(r) {
		switch {
		case v.Metric != result.MetricCPU || v.Load != load || v.Connections != connections || v.Pattern != pattern:
		case v.AAControl || v.Verdict != result.Different:
		case v.Ratio < 1:
			cheaper[v.B]++
		default:
			cheaper[v.A]++
		}
	}
	var ranks []Rank
	for _, name := range subjects(r) {
		if len(trials[name]) > 0 {
			ranks = append(ranks, Rank{1 + cheaper[name], name, meanCost(trials[name])})
		}
	}
	slices.SortStableFunc(ranks, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.CPU, b.CPU))
	})
	return ranks
}

// meanCost returns the geometric mean of the trials' CPU per message.
func meanCost(trials []*result.Trial) float64 {
	return meanOf(costs(trials))
}

func meanOf(trials []stat.Trial) float64 {
	var v []float64
	for _, t := range trials {
		v = append(v, t.Value)
	}
	return stat.GeometricMean(v)
}

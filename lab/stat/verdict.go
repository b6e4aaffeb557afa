package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"weir/lab/result"
)

// A Verdict is what is said of one comparison of a family.
type Verdict struct {
	Word    string  // result.Different, Equivalent or Undecided
	P       float64 // two-sided, of a ratio of 1, corrected for the family
	Warning string  // what a reader must know beside the word; else empty

	// Low and High are the interval that the word rests on, at the level at which Holm's procedure
	// tested this comparison. It leaves out 1 where the word is Different, lies within the margin
	// where it is Equivalent, and else does neither. Both are 0 without an interval.
	Low, High float64
}

// Judge gives the verdicts of a family: the comparisons among which no more than 5 % of runs may
// have even one false "different". Equivalence within margin (ratios from 1/(1+margin) to 1+margin)
// is corrected over the family in the same way. An estimate without an interval is undecided
// whatever it says, so it tests nothing and does not count in the family.
func Judge(family []Estimate, margin float64) []Verdict {
	verdicts := make([]Verdict, len(family))
	var tested []int
	var differ, same []float64
	for i, e := range family {
		verdicts[i] = Verdict{Word: result.Undecided, P: 1, Warning: e.Warning}
		if e.df > 0 {
			tested = append(tested, i)
			differ, same = append(differ, e.P), append(same, e.outside(margin))
		}
	}
	apart, within := holmLevels(differ), holmLevels(same)
	differ, same = Holm(differ), Holm(same)
	for k, i := range tested {
		verdicts[i] = family[i].judge(differ[k], same[k], margin, len(tested))
		verdicts[i].Low, verdicts[i].High = family[i].interval(verdicts[i].Word, apart[k], within[k])
	}
	return verdicts
}

// interval is the interval of a verdict: two-sided at the level of the test for a difference, at
// twice the level of the one-sided tests for equivalence (Schuirmann 1987), and the wider of the
// two where neither decided.
func (e Estimate) interval(word string, apart, within float64) (low, high float64) {
	switch word {
	case result.Different:
		return e.at(apart)
	case result.Equivalent:
		return e.at(2 * within)
	}
	return e.at(min(apart, 2*within))
}

func (e Estimate) judge(differ, same, margin float64, family int) Verdict {
	v := Verdict{Word: result.Undecided, P: differ, Warning: e.Warning}
	switch {
	case differ < 1-Confidence:
		v.Word = result.Different
		if same < 1-Confidence {
			v.Warning = join(v.Warning, fmt.Sprintf("different, but by less than the margin of %.3g %%", 100*margin))
		}
	case same < 1-Confidence:
		v.Word = result.Equivalent
	case e.err > 0:
		v.Warning = join(v.Warning, e.advise(margin, family))
	}
	return v
}

// outside is the p of the hypothesis that the ratio lies outside the margin: the larger of the two
// one-sided tests. The estimate has an interval.
func (e Estimate) outside(margin float64) float64 {
	return tail(math.Log1p(margin)-math.Abs(e.mean), e.err, e.df)
}

// advise says how many blocks would decide.
func (e Estimate) advise(margin float64, family int) string {
	n := BlocksNeeded(e.err*math.Sqrt(float64(e.Blocks)), margin, family)
	if n > maxAdvised {
		return fmt.Sprintf("too noisy here to tell differences of %.3g %%: more than %d blocks would be needed", 100*margin, maxAdvised)
	}
	if n <= e.Blocks {
		return fmt.Sprintf("close to the margin of %.3g %%: more blocks than these %d are needed", 100*margin, e.Blocks)
	}
	return fmt.Sprintf("%d blocks are too few for this noise: about %d would tell a difference of %.3g %%", e.Blocks, n, 100*margin)
}

const maxAdvised = 1000

// QuickBlocks is the number of blocks a cell in the smallest plan that is worth running. The
// simulations in the tests of this package vouch for it, and for twice as many.
const QuickBlocks = 5

// Power is the chance with which the advised number of blocks finds what it is advised for.
const Power = 0.9

// BlocksNeeded is the number of blocks with which a true ratio of 1+difference is called different
// with the chance Power, when single block differences scatter by sd (natural logarithm) and the
// family holds so many comparisons: the normal approximation with Guenther's correction for t
// (1981), at most maxAdvised+1, which means more.
func BlocksNeeded(sd, difference float64, family int) int {
	alpha := (1 - Confidence) / float64(max(family, 1))
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	d := (z + distuv.UnitNormal.Quantile(Power)) * sd / math.Log1p(difference)
	return int(min(math.Ceil(max(d*d+z*z/2, 2)), maxAdvised+1))
}

// holmLevels is the level at which Holm's procedure tests each p: the whole level divided by the
// number of the tests that are left when its turn comes. The procedure ends with the first that is
// not rejected; its level is that of all after it.
func holmLevels(p []float64) []float64 {
	levels := make([]float64, len(p))
	level, ended := 0.0, false
	for k, i := range ascending(p) {
		if !ended {
			level = (1 - Confidence) / float64(len(p)-k)
			ended = p[i] >= level
		}
		levels[i] = level
	}
	return levels
}

// ascending is the indices of p in the order of its values.
func ascending(p []float64) []int {
	rank := make([]int, len(p))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	return rank
}

// Holm corrects the p values of a family of tests (Holm 1979): a corrected value under a level
// rejects its hypothesis, and the chance of one or more false rejections is at most that level,
// whatever the dependence between the tests.
func Holm(p []float64) []float64 {
	corrected := make([]float64, len(p))
	highest := 0.0
	for k, i := range ascending(p) {
		highest = max(highest, min(1, p[i]*float64(len(p)-k)))
		corrected[i] = highest
	}
	return corrected
}

// join puts two warnings into one line.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

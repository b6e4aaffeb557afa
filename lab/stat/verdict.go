package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"weir/lab/result"
)

// A Verdict is the outcome of one comparison of a family.
type Verdict struct {
	Word    string  // result.Different, Equivalent or Undecided
	P       float64 // two-sided, for a ratio of 1, with Holm's correction for the family
	Warning string  // limits the verdict or says how many blocks would decide; empty: none

	// Low and High are the confidence interval at the level at which Holm's procedure tested this
	// comparison. It excludes 1 if the word is Different, lies within the margin if it is
	// Equivalent, and does neither if it is Undecided. Both are 0 without an interval.
	Low, High float64
}

// Judge returns the verdicts on a family of comparisons. The family-wise error rate is 5 %: at most
// that share of runs has one or more false "different". The equivalence margin covers ratios from
// 1/(1+margin) to 1+margin; equivalence is corrected over the family in the same way. An estimate
// without an interval is undecided. It tests nothing and does not count in the family.
func Judge(family []Estimate, margin float64) []Verdict { return judge(family, margin, 1, 1) }

// judge is Judge with shares of the level: apart of the tests for a difference, within of those for
// equivalence. A corrected p is divided by its share.
func judge(family []Estimate, margin, apart, within float64) []Verdict {
	verdicts := make([]Verdict, len(family))
	var tested []int
	var differ, same []float64
	for i, e := range family {
		verdicts[i] = Verdict{Word: result.Undecided, P: 1, Warning: e.Warning}
		if e.df > 0 {
			tested = append(tested, i)
			differ, same = append(differ, e.P), append(same, e.equivalenceP(margin))
		}
	}
	apartLevels, withinLevels := holmLevels(differ, apart), holmLevels(same, within)
	differ, same = shared(Holm(differ), apart), shared(Holm(same), within)
	for k, i := range tested {
		verdicts[i] = family[i].judge(differ[k], same[k], margin, len(tested))
		verdicts[i].Low, verdicts[i].High = family[i].verdictInterval(verdicts[i].Word, apartLevels[k], withinLevels[k])
	}
	return verdicts
}

// verdictInterval returns the interval of a verdict: two-sided at the level of the test for a
// difference, or at twice the level of the one-sided tests for equivalence (Schuirmann 1987). If
// neither decided, it is the wider of the two.
func (e Estimate) verdictInterval(word string, apart, within float64) (low, high float64) {
	switch word {
	case result.Different:
		return e.intervalAt(apart)
	case result.Equivalent:
		return e.intervalAt(2 * within)
	}
	return e.intervalAt(min(apart, 2*within))
}

func (e Estimate) judge(differ, same, margin float64, family int) Verdict {
	v := Verdict{Word: result.Undecided, P: differ, Warning: e.Warning}
	switch {
	case differ < 1-Confidence:
		v.Word = result.Different
		if same < 1-Confidence {
			v.Warning = join(v.Warning, fmt.Sprintf("different, but by less than the equivalence margin of %.3g %%", 100*margin))
		}
	case same < 1-Confidence:
		v.Word = result.Equivalent
	case e.stdErr > 0:
		v.Warning = join(v.Warning, e.adviseBlocks(margin, family))
	}
	return v
}

// equivalenceP returns the p value of the hypothesis that the ratio lies outside the margin: the
// larger of the two one-sided tests. The estimate must have an interval.
func (e Estimate) equivalenceP(margin float64) float64 {
	return tailP(math.Log1p(margin)-math.Abs(e.logMean), e.stdErr, e.df)
}

// adviseBlocks returns a warning with the number of blocks that would decide.
func (e Estimate) adviseBlocks(margin float64, family int) string {
	n := BlocksNeeded(e.stdErr*math.Sqrt(float64(e.Blocks)), margin, family)
	if n > maxAdvised {
		return fmt.Sprintf("too noisy to detect a difference of %.3g %%: more than 1,000 blocks would be needed", 100*margin)
	}
	if n <= e.Blocks {
		return fmt.Sprintf("close to the equivalence margin of %.3g %%: more than these %d blocks are needed", 100*margin, e.Blocks)
	}
	return fmt.Sprintf("%d blocks are too few for this noise: about %d would detect a difference of %.3g %%", e.Blocks, n, 100*margin)
}

// maxAdvised is the largest number of blocks that a warning advises.
const maxAdvised = 1000

// QuickBlocks is the number of blocks per cell in the smallest plan that is worth running. The
// simulations in the tests of this package check the error rates and the power at this number and
// at twice as many.
const QuickBlocks = 5

// Power is the statistical power of the advised number of blocks: the probability that a difference
// of the stated size is detected.
const Power = 0.9

// BlocksNeeded returns the number of blocks with which a true ratio of 1+difference is called
// different with probability Power. sd is the standard deviation of one paired difference (natural
// logarithm), family the number of comparisons. It uses the normal approximation with Guenther's
// correction for t (1981). A result of maxAdvised+1 means that or more.
func BlocksNeeded(sd, difference float64, family int) int {
	alpha := (1 - Confidence) / float64(max(family, 1))
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	d := (z + distuv.UnitNormal.Quantile(Power)) * sd / math.Log1p(difference)
	return int(min(math.Ceil(max(d*d+z*z/2, 2)), maxAdvised+1))
}

// shared divides p values by the share of the level with which they are tested.
func shared(p []float64, share float64) []float64 {
	for i := range p {
		p[i] = min(1, p[i]/share)
	}
	return p
}

// holmLevels returns the level at which Holm's procedure tests each p: the family's share of the
// level divided by the number of tests not yet done. The procedure stops at the first hypothesis
// that is not rejected; all later ones keep its level.
func holmLevels(p []float64, share float64) []float64 {
	levels := make([]float64, len(p))
	level, ended := 0.0, false
	for k, i := range ascending(p) {
		if !ended {
			level = share * (1 - Confidence) / float64(len(p)-k)
			ended = p[i] >= level
		}
		levels[i] = level
	}
	return levels
}

// ascending returns the indices of p in ascending order of its values.
func ascending(p []float64) []int {
	rank := make([]int, len(p))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	return rank
}

// Holm returns the p values of a family of tests after Holm's correction (Holm 1979). A corrected
// value under a level rejects its hypothesis. The probability of one or more false rejections is
// then at most that level, for any dependence between the tests.
func Holm(p []float64) []float64 {
	corrected := make([]float64, len(p))
	highest := 0.0
	for k, i := range ascending(p) {
		highest = max(highest, min(1, p[i]*float64(len(p)-k)))
		corrected[i] = highest
	}
	return corrected
}

// join concatenates two warnings, either of which may be empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

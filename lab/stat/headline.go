package stat

import "weir/lab/result"

// A run names one comparison as its headline. Its test comes first and has nearly the whole
// significance level of the run. The level of the other comparisons depends on its verdict.
const (
	// HeadlineShare is the part of the level that the headline is tested with: 4 of 5 %.
	HeadlineShare = 0.8
	// restShare is the part for all other comparisons together, if the headline has not passed its
	// level on to them.
	restShare = 0.2
)

// HeadlineLevel is the two-sided significance level of the headline's test.
const HeadlineLevel = (1 - Confidence) * HeadlineShare

// JudgeHeadline returns the verdict on a headline whose number of blocks did not depend on their
// figures. Its p is divided by HeadlineShare, so that it compares with the run's level as that of
// other comparisons does.
func JudgeHeadline(e Estimate, margin float64) Verdict {
	return judge([]Estimate{e}, margin, HeadlineShare, HeadlineShare)[0]
}

// JudgeRest is Judge for the comparisons besides a headline that was tested in the same metric,
// with the word of its verdict. They have the whole level if the headline passed it on, and the
// rest of it otherwise. This is the fallback procedure (Wiens 2003), a case of the graphical
// procedures of Bretz and others (2009).
//
// The family-wise error rate of false "different", the headline's included, is at most 5 %. If the
// headline's ratio is 1, a false verdict on it has a probability of 4 %, and without it the others
// have 1 %. If its ratio is not 1, no "different" on it is false, and the others have 5 % at most.
// Neither needs independence. The same holds for false "equivalent", where an equivalent headline
// passes the level on.
func JudgeRest(headline string, family []Estimate, margin float64) []Verdict {
	apart, within := restShare, restShare
	switch headline {
	case result.Different:
		apart = 1
	case result.Equivalent:
		within = 1
	}
	return judge(family, margin, apart, within)
}

// Package sequential decides, block by block, whether a program is worse than another one, or
// different from it. It is arithmetic on float64s. It reads no clock and no file.
//
// A Test takes the ratio HEAD/BASE of one palindromic block after the other (lab/stat explains
// why the block is the unit). More is worse, as with CPU per message. After each block it returns
// a verdict and the confidence interval of that look. A caller may stop at any block.
//
// # Hypotheses
//
// The true ratio r is that of the geometric means. The margin m is the regression that is
// tolerated.
//
//   - Worse: the interval lies above 1 and the estimate above 1+m. It is a false alarm if r <= 1,
//     which has a probability of at most 1-Confidence.
//   - NoWorse: the interval lies below 1+m. It is a miss if r >= 1+m, which has a probability of
//     at most 1-Confidence.
//   - Undecided: all else. With r between 1 and 1+m, no verdict is an error.
//
// A two-sided plan has other verdicts:
//
//   - Different: the interval does not contain 1. It is false if r = 1, which has a probability of
//     at most 2(1-Confidence).
//   - Equivalent: the interval lies within 1/(1+m) and 1+m. It is false outside of them, which has
//     a probability of at most 1-Confidence.
//
// The estimate is part of the condition of Worse for two reasons. A difference that is shown but
// smaller than the margin is not reported. And few blocks of a skewed subject can show a
// difference that is none; hardly any of them exceeds the margin too. A regression of exactly the
// margin is therefore called Worse in six or seven of ten tests, and one of twice the margin nearly
// always: to find 5 %, plan a margin of 2.5 %.
//
// # Procedure
//
// It is a group sequential test with a look after each block. Its errors are spent by the
// O'Brien-Fleming-like function of Lan and DeMets (Discrete sequential boundaries for clinical
// trials, Biometrika 70, 1983, 659-663). Boundaries are computed for normal blocks, by the
// recursive integration of Armitage, McPherson and Rowe (Repeated significance tests on
// accumulating data, Journal of the Royal Statistical Society A 132, 1969, 235-244). The variance
// is not known, so each look uses the quantile of Student's t with the same significance level
// (Jennison and Turnbull, Group Sequential Methods with Applications to Clinical Trials, 2000,
// chapter 4). The interval of a look is the repeated confidence interval of Jennison and Turnbull
// (Interim analyses: the repeated confidence interval approach, Journal of the Royal Statistical
// Society B 51, 1989, 305-361).
//
// A test that cannot have all of its planned blocks ends with Close: its last look has the error
// that is left, as Lan and DeMets allow if the end does not depend on the blocks' ratios.
//
// The tests simulate the error rates, with recorded and with skewed noise. docs/adr/0033 has the
// table, and compares other procedures. docs/adr/0035 has that of two-sided plans with few blocks.
//
// # Limitations
//
// The first looks have hardly any error to spend. With 40 planned blocks, no look before the
// eighth has an interval, and with 20 none before the fourth.
//
// The error rates are simulated for package lab/gate: a margin of 2.5 %, 40 blocks of eight trials,
// and half of the error that the gate allows. They hold for normal blocks, and for others as far as
// the mean of some ten blocks is about normal. If BASE and HEAD have the same distribution and the
// same number of trials, blocks are symmetric whatever that distribution is.
//
// A cost that is rare and that only one of the two has may not occur in the first blocks. If HEAD
// costs 1.4 times as much in a tenth of its trials, a regression of exactly the margin is missed
// in 2 of 100 tests. If only BASE does, HEAD looks worse at first: the false alarm occurs in 1 of
// 100 tests of 40 planned blocks, in 4 with 10 or 20, and in 7 with 5.
//
// Blocks count as independent. To make a drift over several blocks harmless, draw at random for
// each block which program comes first.
//
// Blocks whose noise has no spread give no interval: they do not show how noisy the machine is.
package sequential

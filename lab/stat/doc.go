// Package stat computes ratios of subjects from their trials: paired differences in blocks,
// confidence intervals, corrected p values and verdicts. It is arithmetic on float64s. It reads no
// clock and no file.
//
// # The unit is the block
//
// A machine's speed drifts during a run. The same server under the same load used 15 us a message
// and 8 us a minute later, and no counter showed why. Subjects are therefore compared only within
// blocks. A block holds two trials of every subject at mirrored positions (a b c c b a). A linear
// drift over the block cancels in the mean logarithm of a subject's two trials. The difference of
// two such means is one paired difference: one observation of the logarithm of the ratio. Paired
// differences of different blocks are taken as independent. Trials are not independent, so they
// are never counted as separate observations.
//
// All blocks have the same weight. The confidence interval is that of a paired t test over the
// blocks. The ratio is that of the geometric means. If a subject's trials vary widely, the ratio of
// the arithmetic means differs from it by about half the difference of the variances of the
// logarithms. That is 0.6 % for a subject that uses 1.4 times as much in a tenth of its trials,
// compared with a steady one.
//
// # Verdicts
//
// Two subjects are different if the corrected p is under 0.05. They are equivalent if two one-sided
// tests (Schuirmann 1987) place the ratio within the equivalence margin at the same level. In all
// other cases the comparison is undecided, which does not mean "no difference": there were too few
// blocks, and the warning says about how many are needed. The interval of a verdict is corrected
// for multiple comparisons as its p is.
//
// # Stability
//
// The stability of a subject's CPU is its coefficient of variation (sigma/mu) over windows. A short
// trial has few windows, so PoolCV pools the windows of all trials of a subject. The degrees of
// freedom are reported with the figure. With fewer than eight there is no figure: "too short to
// tell". Two subjects are compared by the variances pooled within each block.
//
// # Limitations
//
// With two to four blocks, an interval assumes that block differences are roughly normal; so few
// numbers cannot show that they are not. With fewer than fourteen blocks, an expensive trial that
// occurs one time in ten may not have occurred. For a subject that uses 1.4 times as much in a
// tenth of its trials, the interval of 5 blocks contains the true ratio in 84 of 100 runs, of 10
// blocks in 88, of 14 in 92. Such estimates carry a warning. A speed that jumps within a block does
// not cancel: it widens the interval, and more blocks are needed.
package stat

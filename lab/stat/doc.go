// Package stat turns the numbers of trials into statements that may be wrong in at most a stated
// share of cases. It is arithmetic on float64s: no clock, no file, nothing of the lab.
//
// # The unit is the block
//
// A machine's speed drifts while it is measured: the same server under the same load was seen to
// cost 15 us a message and 8 us a minute later, with nothing to show for it in any counter. So
// subjects are compared inside blocks only. A block holds two trials of every subject at mirrored
// positions (a b c c b a), in which the mean logarithm of each subject is free of any drift that is
// a straight line over the block. The difference of two such means is one observation of the
// logarithm of the ratio. Blocks are independent of each other as far as the noise is; trials are
// not, and are never counted as if they were.
//
// Every block weighs the same, whatever its trials say: the interval is the paired t of the blocks'
// differences. The ratio is that of the geometric means. Where a subject's trials scatter widely,
// the ratio of the arithmetic means is another: the two differ by about half the difference of the
// variances of the logarithms. That is 0.6 % for a subject that is 1.4 times dearer in a tenth of
// its trials, against a steady one.
//
// # Words
//
// Two subjects are called different when the corrected p is under 0.05, equivalent when two
// one-sided tests (Schuirmann 1987) place the ratio within the stated margin at the same level,
// else undecided. The interval of a verdict is the one that it rests on, corrected as its p is.
// Undecided is not "no difference": it says that there were too few blocks, and about how many it
// would take.
//
// # Stability
//
// How steady a subject's CPU is, its sigma/mu, takes windows, and a short trial has few. So the
// windows of all trials of a subject are pooled (Spread), its degrees of freedom stand beside the
// figure, and under eight of them there is no figure: "too short to tell". Two subjects are
// compared by the variances pooled within each block.
//
// # Limitations
//
// With two to four blocks an interval rests on the assumption that block differences are roughly
// normal; nothing in so few numbers could show that they are not. With fewer than fourteen, what a
// subject does in one trial of ten may not have shown: of one that is 1.4 times dearer in a tenth
// of its trials, the interval of 5 blocks holds the true ratio in 84 of 100 runs, of 10 blocks in
// 88, of 14 in 92. Estimates carry a warning then. A speed that jumps in mid-block is not cancelled
// by the mirror: it widens the interval, and takes more blocks.
package stat

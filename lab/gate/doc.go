// Package gate decides whether one version of a server is worse than another one, for use in
// continuous integration.
//
// Run takes two versions, BASE and HEAD: revisions of a git repository, folders, or subject.toml
// files. It builds both, and runs them alternately on this machine, in palindromic blocks of the lab
// (package lab). BASE takes part a second time as the A/A control. After each block the decision
// procedure of lab/stat/sequential gets the block's ratio HEAD/BASE of each metric. The gate ends
// when each judged metric is decided, or when the budget is used.
//
// # What counts
//
// The figure of a block is the geometric mean of its trials: two of HEAD, and four of BASE, since
// the A/A control is the same program. Trials that the lab rejects as disturbed count too, and none
// is repeated: a disturbance hits all versions alike, and widens the interval. A failed trial makes
// its block void.
//
// Metrics are named in Metrics. CPU per message is judged by default. Others are listed with their
// interval, and judged if Config.Metrics names them. With k judged metrics each has the error
// (1-Confidence)/k (Bonferroni), so that false alarms over all metrics together stay below
// 1-Confidence. A start is not part of a trial, so start-up times come from starts of their own,
// before the trials. The size of the binary has no noise: it is compared once.
//
// # Baselines
//
// A Baseline is a file of the block figures of one version. A later gate compares its own blocks
// with those, one to one. The versions are not interleaved then, and a change of the machine's speed
// in between counts as a difference between them.
//
// # Limitations
//
// A gate has one load with one number of connections. It needs Linux, as all trials do. The
// procedure plans the number of blocks from the duration of the first one. With fewer than
// MinBlocks planned blocks each error is halved, because the procedure's quantiles are too small
// there.
package gate

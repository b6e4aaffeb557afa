// Package gate decides whether one version of a server is worse than another one, for use in
// continuous integration.
//
// Run takes two versions, BASE and HEAD: revisions of a git repository, folders, or subject.toml
// files. It builds both, and runs them alternately on this machine, in palindromic blocks of
// package lab. After each block the decision procedure of lab/stat/sequential gets the block's
// ratio HEAD/BASE of each metric. The gate ends when each judged metric is decided, or when the
// budget is used.
//
// # What counts
//
// A block has eight trials: each version takes part twice, at two positions that mirror each other.
// The figure of a version is the geometric mean of its four trials. Trials that the lab rejects as
// disturbed count too, and none is repeated: a disturbance hits both versions alike, and widens the
// interval. A failed trial makes its block void.
//
// The A/A control compares the CPU of BASE with that of BASE the second time. If it is decided that
// they differ, the gate is undecided, whatever it found of HEAD.
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
// with those, one to one. The versions are not interleaved then, and a change of the machine's
// speed in between counts as a difference between them.
//
// # Limitations
//
// A gate has one load with one number of connections. It needs Linux, as all trials do. The
// procedure plans the number of blocks from the duration of the first one; with fewer than
// MinBlocks it hardly decides. Half of the allowed error is left for blocks that are not normal.
package gate

// Package workload defines what a workload is to the lab: a kind of message, such as an HTTP
// request, with the settings of its loads, its generator, and the judgement of its trials.
//
// Each workload is one folder below this one. It implements Workload, Load and Session, and holds
// its load generator, the checks of its contract, and the sections of its reports. The lab itself
// keeps the plan, the trials, their rejection, the statistics and the accounting, and knows
// workloads only by these interfaces.
//
// # Limitations
//
// A load has one generator process on this machine.
package workload

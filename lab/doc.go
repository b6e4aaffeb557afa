// Package lab compares servers: it runs an experiment and reports, with confidence intervals,
// whether the servers in it differ.
//
// An Experiment is the question: which subjects, under which loads. A Plan is the order in which
// its trials run, computed from a seed alone. A trial starts one subject afresh, warms it up,
// measures it and decides whether the measurement is valid. A Runner executes a plan, stores every
// trial as it ends, and resumes an interrupted run. The outcome is a result.Results.
//
// The workload defines what a message is: a message on a TCP connection, an HTTP request, a
// delivery to a member of a chat room, or an operation on a TCP/IP stack. For stacks each trial
// creates a network of its own.
//
// The sub-packages: subject (servers under test), contract (tests that make them comparable), load
// (the generator), sample (CPU accounting), reason (system calls and wake-ups), stat and compare
// (statistics and verdicts), report (pages and figures).
//
// Limitations: Linux only. The generator and the subject share one machine, so loopback does part
// of a receiver's work in the sender's context. Every trial therefore reports the CPU of the
// generator and of the whole machine beside the subject's. A subject that runs elsewhere can be
// measured, but its CPU is not known.
package lab

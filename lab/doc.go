// Package lab compares servers honestly: it runs an experiment and says, with an interval, whether
// the servers in it differ.
//
// An Experiment says what is asked: which subjects, under which loads. A Plan is the order in which
// its trials run, made from a seed alone. A trial starts one subject afresh, warms it, measures it
// and judges whether the measurement may count; a Runner carries out a plan, keeps every trial the
// moment it ends, and goes on where an interrupted run stopped. What was found is a result.Results.
// A load is of messages on connections or, by the workload, of HTTP requests, of what members of a
// chat's rooms are told, or of operations on a TCP/IP stack, for which each trial has a network of
// its own; all are called messages.
//
// The parts stand in folders of their own: subject (servers under test), contract (what makes them
// comparable), load (the generator), sample (accounting), reason (system calls and wake-ups), stat
// and compare (what the numbers allow to be said), report (how it is shown).
//
// Limitations: Linux only. The generator and the subject share one machine, so loopback does part
// of a receiver's work in the sender's context: that is why the generator's and the whole machine's
// CPU stand beside the subject's in every trial. A subject that runs elsewhere is driven, but its
// CPU is not known.
package lab

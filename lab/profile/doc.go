// Package profile explains why a message costs one server more CPU than another one.
//
// Both run in trials of their own under the same load, while the timer samples the call stacks of
// their whole process trees (package sampler). The figures of these trials are not used otherwise.
// Addresses become names (package symbol), and equal stacks are folded. A sample stands for one
// period of CPU, so samples divided by messages are CPU per message, and the two servers can be
// compared function by function.
//
// Compare makes a [Difference]: a table of functions and system calls, and the merged call tree.
// Every sample is in one row of the table, so the rows add up to the total. A stack in a system
// call belongs to that call; one in Go's allocator, collector or scheduler to that part of the
// runtime; any other to its innermost function. Package page draws it.
//
// # Intervals
//
// Each trial is split into ten blocks of time with equally many messages, and both servers have
// several trials in palindromic order (A B B A). The interval of a difference is Welch's t over the
// blocks. It is of one row: with a hundred rows some exclude 0 by chance. It does not contain what
// differs between two starts of a server beyond those trials.
//
// # Limitations
//
// Time in which a thread waits is not CPU, so it is in no row: of an fsync only what the kernel
// computes. Inlined functions count as their callers. The limits of sampler and symbol hold; what
// could not be named is in Side.Notes.
package profile

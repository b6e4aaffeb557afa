// Package cluster runs several unmodified programs in one virtual network: each on a host of its
// own with a stack (package program), on links that lose and delay packets (package fabric), with
// faults at given times.
//
// # Limitations
//
// The network has no way out: the programs reach each other, by the names of their hosts, and
// nothing else. Files and the clock are those of the machine. It runs in real time, so a seed does
// not repeat what happens. It needs what package program needs: Linux.
package cluster

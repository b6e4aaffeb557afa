//go:build !linux

package main

// killChildren does nothing: a terminal sends the signal to the child processes too.
func killChildren() {}

// adoptOrphans does nothing: only Linux has it.
func adoptOrphans() error { return nil }

// endChildren does nothing: only Linux has adoptOrphans.
func endChildren() {}

//go:build !linux

package main

// inForeground reports whether the keys of a terminal send signals to this process.
func inForeground() bool { return false }

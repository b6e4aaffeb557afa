package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground reports whether the keys of a terminal send signals to this process.
func inForeground() bool {
	f, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer f.Close()
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

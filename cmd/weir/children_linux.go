package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killChildren kills the programs that this process has started, each with its process group if it
// has one of its own.
func killChildren() {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list) // of a thread that has ended: none
		for _, field := range bytes.Fields(text) {
			pid, err := strconv.Atoi(string(field))
			if err != nil {
				continue
			}
			if group, err := syscall.Getpgid(pid); err == nil && group == pid {
				_ = syscall.Kill(-pid, syscall.SIGKILL)
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

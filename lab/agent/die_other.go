//go:build !linux

package agent

import "syscall"

// dieWithAgent has nothing to set: load generators run on Linux only.
func dieWithAgent() *syscall.SysProcAttr { return nil }

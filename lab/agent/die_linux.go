package agent

import "syscall"

// dieWithAgent makes the kernel kill a load when its agent ends in any way. A Ctrl-C of the
// terminal reaches the agent only.
func dieWithAgent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

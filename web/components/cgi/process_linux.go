package cgi

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// wait waits for the program's exit. It kills the group before the process is reaped, because the
// group's ID cannot be reused until then.
func (p *process) wait() error {
	for unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	err := p.cmd.Wait()
	p.reaped = true
	return err
}

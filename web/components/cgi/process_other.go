//go:build !linux

package cgi

import "syscall"

// wait waits for the program's exit, and then kills its group. The ID is not reused while the group
// exists (POSIX, fork).
func (p *process) wait() error {
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.reaped = true
	return err
}

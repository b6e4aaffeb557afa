//go:build !linux

package cgi

import "syscall"

// wait waits for the program, and kills its group then: as long as there is one, its number is not
// given to another (POSIX, fork).
func (p *process) wait() error {
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.reaped = true
	return err
}

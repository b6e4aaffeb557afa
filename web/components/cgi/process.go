package cgi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// errTime reports that a program has run longer than its timeout.
var errTime = errors.New("it ran longer than its timeout")

// exitGrace is how long a program that has closed its output may take to exit.
const exitGrace = time.Second

// process is a running program, in a process group of its own.
type process struct {
	cmd          *exec.Cmd
	out          *os.File
	ctx          context.Context // its end kills the group
	cancel       context.CancelFunc
	stopWatching func() bool
	exited       chan struct{} // closed by reap
	waitErr      error         // the result of Wait, valid once exited is closed

	idleTimeout time.Duration // the limit on how long a read may wait; 0: none
	idleTimer   *time.Timer   // runs while a read waits; nil: no limit
	stalled     atomic.Bool   // the timer expired, and the group was killed

	mu     sync.Mutex
	reaped bool // the group's ID may be in use by another
}

// start starts a program and limits its time. The caller closes the process.
func start(ctx context.Context, limit time.Duration, cmd *exec.Cmd) (*process, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd.Stdout, cmd.WaitDelay = theirs, exitGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	p := &process{cmd: cmd, out: out, exited: make(chan struct{})}
	p.ctx, p.cancel = context.WithTimeout(ctx, limit)
	p.stopWatching = context.AfterFunc(p.ctx, p.kill)
	go p.reap() // until the program has exited, which Close ensures
	return p, nil
}

// kill kills the rest of the group.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// limitIdle limits how long reads may wait from now on. It is called before the next Read.
func (p *process) limitIdle(idle time.Duration) {
	p.idleTimeout = idle
	p.idleTimer = time.AfterFunc(idle, func() {
		p.stalled.Store(true)
		p.kill()
	})
	p.idleTimer.Stop() // until the next Read
}

// readPipe reads from the pipe, with the limit on how long it may wait.
func (p *process) readPipe(b []byte) (int, error) {
	if p.idleTimer == nil {
		return p.out.Read(b)
	}
	p.idleTimer.Reset(p.idleTimeout)
	defer p.idleTimer.Stop()
	return p.out.Read(b)
}

// reap waits for the program's exit, and kills the rest of its group.
func (p *process) reap() {
	p.waitErr = p.wait()
	// a process that has left the group may keep the pipe open: see readRest
	_ = p.out.SetReadDeadline(time.Now())
	close(p.exited)
}

// Read returns the program's output. It returns io.EOF only if the program has exited by itself,
// with any status.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.readPipe(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = p.readRest(b)
	}
	if n > 0 || err == nil {
		return n, nil
	}
	late := time.NewTimer(exitGrace)
	defer late.Stop()
	select {
	case <-p.exited:
	case <-p.ctx.Done():
		<-p.exited
	case <-late.C:
		return 0, io.EOF
	}
	switch why := p.ctx.Err(); {
	case p.stalled.Load():
		return 0, fmt.Errorf("the program wrote no data for %v", p.idleTimeout)
	case why == context.DeadlineExceeded:
		return 0, errTime
	case why != nil:
		return 0, why
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 0, p.exitError()
	}
	return 0, io.EOF
}

// readRest reads what an exited program has left in the pipe. It does not wait for other processes
// that have the pipe open.
func (p *process) readRest(b []byte) (n int, err error) {
	raw, err := p.out.SyscallConn()
	if err != nil {
		return 0, err
	}
	read := func(fd uintptr) {
		for n, err = syscall.Read(int(fd), b); err == syscall.EINTR; {
			n, err = syscall.Read(int(fd), b)
		}
	}
	if failed := raw.Control(read); failed != nil {
		return 0, failed
	}
	if n <= 0 { // the end of the file, or no data
		return 0, io.EOF
	}
	return n, nil
}

// exitError returns how the program failed: nil while it runs, and after status 0.
func (p *process) exitError() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	if _, ok := errors.AsType[*exec.ExitError](p.waitErr); ok {
		return exitFailure{p.cmd.ProcessState}
	}
	return nil
}

// exitFailure is a program's exit with another status than 0.
type exitFailure struct{ *os.ProcessState }

func (e exitFailure) Error() string { return fmt.Sprintf("it ended with %s", e.ProcessState) }

// awaitExit gives the program time to exit.
func (p *process) awaitExit() {
	late := time.NewTimer(exitGrace)
	defer late.Stop()
	select {
	// by itself
	case <-p.exited:
	case <-p.ctx.Done():
	case <-late.C:
	}
}

// Close kills the program and its group if it still runs, and waits for its exit.
func (p *process) Close() error {
	p.stopWatching()
	select {
	case <-p.exited: // of its own
	default:
		p.kill()
	}
	<-p.exited
	p.cancel()
	return p.out.Close()
}

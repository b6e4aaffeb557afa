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

// errTime is that a program has used up its time.
var errTime = errors.New("its time was up")

// grace is how long a program that has closed its output may take to exit.
const grace = time.Second

// process is a program that runs, with a process group of its own.
type process struct {
	cmd    *exec.Cmd
	out    *os.File
	ctx    context.Context // its end kills the group
	cancel context.CancelFunc
	forget func() bool
	exited chan struct{} // closed by reap
	state  error         // of Wait, once exited

	idle    time.Duration // the limit on silence; 0: there is none
	silence *time.Timer   // runs while the program is waited for; nil: there is no limit
	stalled atomic.Bool   // it ran out, and the group is killed

	mu     sync.Mutex
	reaped bool // the group's number may be another's
}

// start starts a program with this much time. Who calls start calls Close.
func start(ctx context.Context, limit time.Duration, cmd *exec.Cmd) (*process, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd.Stdout, cmd.WaitDelay = theirs, grace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	p := &process{cmd: cmd, out: out, exited: make(chan struct{})}
	p.ctx, p.cancel = context.WithTimeout(ctx, limit)
	p.forget = context.AfterFunc(p.ctx, p.kill)
	go p.reap() // until the program has exited, which Close sees to
	return p, nil
}

// kill kills what is left of the group.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// limitSilence limits from now on how long nothing may come while it is waited for. It is called
// before Read is called again.
func (p *process) limitSilence(idle time.Duration) {
	p.idle = idle
	p.silence = time.AfterFunc(idle, func() {
		p.stalled.Store(true)
		p.kill()
	})
	p.silence.Stop() // until Read is called
}

// readPipe reads from the pipe, for as long as the program may be silent.
func (p *process) readPipe(b []byte) (int, error) {
	if p.silence == nil {
		return p.out.Read(b)
	}
	p.silence.Reset(p.idle)
	defer p.silence.Stop()
	return p.out.Read(b)
}

// reap waits for the program, and kills what it leaves behind.
func (p *process) reap() {
	p.state = p.wait()
	_ = p.out.SetReadDeadline(time.Now()) // who has left the group may hold the pipe open: see rest
	close(p.exited)
}

// Read gives what the program writes. The end is io.EOF only if it has exited by itself, with
// whatever status.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.readPipe(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = p.rest(b)
	}
	if n > 0 || err == nil {
		return n, nil
	}
	late := time.NewTimer(grace)
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
		return 0, fmt.Errorf("nothing came for %v", p.idle)
	case why == context.DeadlineExceeded:
		return 0, errTime
	case why != nil:
		return 0, why
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 0, p.exit()
	}
	return 0, io.EOF
}

// rest reads what a program that has exited has left in the pipe, and waits for nobody else who
// holds it.
func (p *process) rest(b []byte) (n int, err error) {
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
	if n <= 0 { // its end, or nothing to be read
		return 0, io.EOF
	}
	return n, nil
}

// exit is how the program ended: nil while it runs, and when it did with status 0.
func (p *process) exit() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	if _, ok := errors.AsType[*exec.ExitError](p.state); ok {
		return exited{p.cmd.ProcessState}
	}
	return nil
}

// exited is that a program has ended otherwise than with status 0.
type exited struct{ *os.ProcessState }

func (e exited) Error() string { return fmt.Sprintf("it ended with %s", e.ProcessState) }

// settle gives the program time to exit.
func (p *process) settle() {
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-p.exited:
	case <-p.ctx.Done():
	case <-late.C:
	}
}

// Close ends the program, if it runs, with all of its group, and waits for that.
func (p *process) Close() error {
	p.forget()
	select {
	case <-p.exited: // of its own
	default:
		p.kill()
	}
	<-p.exited
	p.cancel()
	return p.out.Close()
}

package subject

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weir/internal/tail"
	"weir/lab/sample"
)

const (
	// stopTimeout is how long a server may take to drain and exit after SIGTERM. Weir's servers
	// take at most two seconds; the rest is for a busy machine.
	stopTimeout = 4 * time.Second
	// stderrKept is how many bytes of standard error are kept.
	stderrKept = 64 << 10
	// pause is the interval of polling.
	pause = 10 * time.Millisecond
)

// Process is a running subject. Its methods may be called from any goroutine. The caller of Start
// must call Stop.
//
// Its goroutines are wait, which ends with the process, and one reader per pipe. A reader ends when
// the last process that holds the pipe has exited, at the latest in Stop.
type Process struct {
	subject       *Subject
	group         *sample.Group // nil without accounting
	cmd           *exec.Cmd
	addr          string
	stderr        *tail.Buffer
	watches       []*watch   // one per pipe if readiness is a line of output
	pipes         []*os.File // read ends, closed by Stop; unchanged after the start
	readers       sync.WaitGroup
	done          chan struct{} // closed by wait
	exitState     *os.ProcessState
	stopRequested atomic.Bool // Stop was called: an exit is expected
	stop          func() error
}

// wait waits for the first process.
func (p *Process) wait() {
	_ = p.cmd.Wait() // ProcessState has the result too
	p.exitState = p.cmd.ProcessState
	close(p.done)
}

// PID returns the ID of the process of the run command.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process of the run command has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how that process exited; nil while it runs.
func (p *Process) Exit() *os.ProcessState {
	select {
	case <-p.done:
		return p.exitState
	default:
		return nil
	}
}

// Err returns how the process exited by itself. It is nil while the process runs, and nil after an
// exit that Stop requested.
func (p *Process) Err() error {
	exit := p.Exit()
	if exit == nil || p.stopRequested.Load() && p.stoppedWell(exit) {
		return nil
	}
	p.drain(pause * 20)
	text := fmt.Sprintf("%s ended (%s)", p.subject.Name, exit)
	if line := clip(p.stderr.LastLine()); line != "" {
		text += fmt.Sprintf(", its last line is %q", line)
	}
	return errors.New(text)
}

// Stderr returns the last 64 KiB of the process tree's standard error.
func (p *Process) Stderr() string { return p.stderr.String() }

// Unread returns how many bytes are in the receive queues of the subject's port; 0 if unknown on
// this system.
func (p *Process) Unread() int64 {
	_, port, _ := net.SplitHostPort(p.addr)
	n, _ := strconv.Atoi(port)
	return unread(p.PID(), n)
}

// Stop stops the subject: it sends SIGTERM to its first process, waits four seconds for all its
// processes to exit, then sends SIGKILL to the rest. It returns when no process is left. An error
// means that the subject had to be killed, left processes behind or exited with an error; an exit
// by the SIGTERM itself is no error, and of published programs no exit status is. Later calls
// return the same.
func (p *Process) Stop() error { return p.stop() }

func (p *Process) stopOnce() error {
	defer p.closePipes()
	early := p.Err()
	p.stopRequested.Store(true)
	if early != nil {
		p.kill()
		return early
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has just exited
	deadline := time.NewTimer(stopTimeout)
	defer deadline.Stop()
	select {
	case <-p.done:
	case <-deadline.C:
		p.kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed", p.subject.Name, stopTimeout)
	}
	left := p.waitEmpty(deadline.C)
	p.kill()
	if err := p.Err(); err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("%s left %d processes behind when it ended; they were killed", p.subject.Name, left)
	}
	return nil
}

// waitEmpty waits for the children of an exited process and returns how many are left when expired
// fires. Programs in the form in which they were published do not handle their children, and are
// not waited for.
func (p *Process) waitEmpty(expired <-chan time.Time) (left int) {
	if p.subject.Contract == "published" {
		return 0
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		if left = len(p.members()); left == 0 {
			return 0
		}
		select {
		case <-tick.C:
		case <-expired:
			return left
		}
	}
}

// Left lists the subject's living processes.
func (p *Process) Left() []int { return p.members() }

// members returns the living processes of the tree: those of the group, or without one those of the
// process group.
func (p *Process) members() []int {
	if p.group != nil {
		if pids, err := p.group.PIDs(); err == nil {
			return pids
		}
	}
	return processGroup(p.PID())
}

// kill kills all remaining processes, and waits for the first.
func (p *Process) kill() {
	for round := 0; round < 100; round++ {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
		pids := p.members()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) == 0 {
			break
		}
		// wait for the kernel to remove them; children forked meanwhile are killed in the next
		// round
		time.Sleep(pause)
	}
	<-p.done
}

// drain lets the readers read the rest of an exited process's output.
func (p *Process) drain(within time.Duration) {
	for _, f := range p.pipes {
		_ = f.SetReadDeadline(time.Now().Add(within))
	}
	p.readers.Wait()
}

func (p *Process) closePipes() {
	p.drain(pause * 20)
	for _, f := range p.pipes {
		f.Close()
	}
}

// stoppedWell reports whether an exit after SIGTERM is correct. Programs in the form in which they
// were published, and servers that are given by a command, may have any exit status.
func (p *Process) stoppedWell(exit *os.ProcessState) bool {
	return exitedBySIGTERM(exit) || p.subject.Contract == "published" && exit.Exited()
}

// exitedBySIGTERM reports whether an exit after SIGTERM is correct: status 0, death by the signal,
// or the status by which shells and virtual machines report it.
func exitedBySIGTERM(exit *os.ProcessState) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return exit.Success() || ok && (status.Signaled() && status.Signal() == syscall.SIGTERM || status.ExitStatus() == 128+int(syscall.SIGTERM))
}

// portTaken reports whether the process printed that its port is in use.
func portTaken(stderr string) bool {
	s := strings.ToLower(stderr)
	return strings.Contains(s, "in use") || strings.Contains(s, "eaddrinuse")
}

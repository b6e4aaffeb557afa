package subject

import (
	"errors"
	"fmt"
	"io"
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
	// stopWithin is how long a server may take to drain and leave after SIGTERM. Ours promise two
	// seconds; the rest is for a busy machine.
	stopWithin = 4 * time.Second
	// stderrKept is how much of its standard error is kept, in bytes.
	stderrKept = 64 << 10
	// pause is the time between two looks at whether something has become true.
	pause = 10 * time.Millisecond
)

// Process is a running subject. Its methods may be called from any goroutine; its starter must call
// Stop.
//
// Goroutines: wait, which ends with the process, and one reader for each pipe, which ends when the
// last process that holds the pipe has ended, at the latest in Stop.
type Process struct {
	subject *Subject
	group   *sample.Group // nil without accounting
	cmd     *exec.Cmd
	addr    string
	stderr  *tail.Buffer
	awaited []*watch   // one for each pipe if readiness is a line
	pipes   []*os.File // read ends, closed by Stop; fixed once started
	readers sync.WaitGroup
	done    chan struct{} // closed by wait
	exit    *os.ProcessState
	asked   atomic.Bool // Stop was called: an end is no surprise
	stop    func() error
}

// wait collects the first process's end.
func (p *Process) wait() {
	_ = p.cmd.Wait() // what it says stands in ProcessState too
	p.exit = p.cmd.ProcessState
	close(p.done)
}

// PID is the process that the run command started.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process that the run command started has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how that process ended; nil while it runs.
func (p *Process) Exit() *os.ProcessState {
	select {
	case <-p.done:
		return p.exit
	default:
		return nil
	}
}

// Err says how the process ended by itself: nil while it runs, and nil after a Stop that it
// followed.
func (p *Process) Err() error {
	exit := p.Exit()
	if exit == nil || p.asked.Load() && obeyed(exit) {
		return nil
	}
	p.drain(pause * 20)
	text := fmt.Sprintf("%s ended (%s)", p.subject.Name, exit)
	if line := clip(p.stderr.LastLine()); line != "" {
		text += fmt.Sprintf(", saying %q", line)
	}
	return errors.New(text)
}

// Stderr is the last 64 KiB of what the whole process tree wrote to standard error so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// Unread is how many bytes have arrived at the subject's port that it has not read, 0 where that
// can't be seen.
func (p *Process) Unread() int64 {
	_, port, _ := net.SplitHostPort(p.addr)
	n, _ := strconv.Atoi(port)
	return unread(p.PID(), n)
}

// Stop ends the subject: SIGTERM to its first process, four seconds for all of its processes to
// leave, then SIGKILL to what is left. It returns when nothing is left. The error says that the
// subject had to be killed, left processes behind or ended badly; an end by the SIGTERM itself is
// none. Later calls return the same.
func (p *Process) Stop() error { return p.stop() }

func (p *Process) stopOnce() error {
	defer p.closePipes()
	early := p.Err()
	p.asked.Store(true)
	if early != nil {
		p.kill()
		return early
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if it has just ended
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	select {
	case <-p.done:
	case <-deadline.C:
		p.kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed", p.subject.Name, stopWithin)
	}
	left := p.emptied(deadline.C)
	p.kill()
	if err := p.Err(); err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("%s left %d processes behind when it ended; they were killed", p.subject.Name, left)
	}
	return nil
}

// emptied waits for the children of an ended process and says how many are still there when expired
// fires. As-published programs do not look after theirs, and are not waited for.
func (p *Process) emptied(expired <-chan time.Time) (left int) {
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

// members are the living processes of the tree: what the group counts, and the process group.
func (p *Process) members() []int {
	if p.group != nil {
		if pids, err := p.group.PIDs(); err == nil {
			return pids
		}
	}
	return processGroup(p.PID())
}

// kill ends everything that is left, and waits for the first process.
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
		// until the kernel has buried them; those that fork meanwhile meet the next round
		time.Sleep(pause)
	}
	<-p.done
}

// read passes on what comes through a pipe until its end.
func (p *Process) read(from *os.File, to io.Writer) {
	defer p.readers.Done()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		_, _ = to.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

// drain lets the readers take what a dead process still left in its pipes.
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

// obeyed says whether an end after SIGTERM is in order: exit 0, death by the signal, or the way in
// which shells and virtual machines report it.
func obeyed(exit *os.ProcessState) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return exit.Success() || ok && (status.Signaled() && status.Signal() == syscall.SIGTERM || status.ExitStatus() == 128+int(syscall.SIGTERM))
}

// portTaken says whether the process complained about its port.
func portTaken(stderr string) bool {
	s := strings.ToLower(stderr)
	return strings.Contains(s, "in use") || strings.Contains(s, "eaddrinuse")
}

//go:build unix

package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// The descriptors that a child process inherits.
const (
	inheritedSocketFD = 3
	lifelineFD        = 4
	firstFileFD       = 5 // of Options.ChildFiles
)

// childProcesses are the processes of a multi-process model.
//
// Ownership: the parent holds the write end of a pipe, the lifeline; every child inherits its read
// end. One goroutine, the reaper, waits for all children, because a blocking wait for each would
// cost a thread for each.
//
// Signals: one goroutine forwards Options.ChildSignals, until the reaper ends.
//
// Stop: closing the lifeline stops all children at once. The parent's death does the same, whatever
// its cause. Each child then drains as its own model does. A child that runs longer than
// Options.DrainTimeout and the grace period is killed; Options.AbortStop cuts that short. The
// reaper ends when no child is left.
type childProcesses struct {
	options        Options
	lifelineReader *os.File // read end of the lifeline
	// The descriptor of lifelineReader. File.Fd is called once, because it makes the pipe block, in
	// the children too.
	lifelineReaderFD uintptr
	lifelineWriter   *os.File // write end of the lifeline
	// From the runtime and from stop to the reaper: look for children that have exited. One pending
	// signal suffices; never closed.
	signalc     chan os.Signal
	reaperDonec chan struct{} // closed by the reaper when it ends

	mu       sync.Mutex
	counters *counterShard
	// by process id: the callback for its exit, called without the lock
	exitCallbacks map[int]func(syscall.WaitStatus)
	stopping      bool
}

func newChildProcesses(o Options) (*childProcesses, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("serve: making the pipe to the child processes: %w", err)
	}
	c := &childProcesses{options: o, counters: o.Meter.newShard(), lifelineReader: r, lifelineReaderFD: r.Fd(), lifelineWriter: w, exitCallbacks: make(map[int]func(syscall.WaitStatus)),
		signalc: make(chan os.Signal, 1), reaperDonec: make(chan struct{})}
	signal.Notify(c.signalc, syscall.SIGCHLD)
	go c.reap()
	if o.ChildSignals != nil {
		go c.forward(o.ChildSignals)
	}
	return c, nil
}

// start starts a child that inherits socket. The reaper calls onExit when it has exited; onExit
// must not block.
func (c *childProcesses) start(socket syscall.Conn, onExit func(syscall.WaitStatus)) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var startErr error
	// Not File.Fd, which would make the socket block, in every process that shares it.
	err = raw.Control(func(fd uintptr) { startErr = c.startWith(fd, onExit) })
	return errors.Join(err, startErr)
}

func (c *childProcesses) startWith(fd uintptr, onExit func(syscall.WaitStatus)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return ErrStopped
	}
	files := []uintptr{0, 1, 2, fd, c.lifelineReaderFD}
	for _, f := range c.options.ChildFiles {
		files = append(files, f.Fd())
	}
	pid, err := syscall.ForkExec(c.options.ChildCommand[0], c.options.ChildCommand, &syscall.ProcAttr{Env: os.Environ(), Files: files})
	if err != nil {
		return fmt.Errorf("serve: starting the child process %s: %w", c.options.ChildCommand[0], err)
	}
	c.counters.childrenStarted.add(1)
	c.exitCallbacks[pid] = onExit
	return nil
}

// reap collects exited children on each SIGCHLD. It returns when the stop has left none.
func (c *childProcesses) reap() {
	defer close(c.reaperDonec)
	for range c.signalc {
		if c.collectExited() {
			return
		}
	}
}

// collectExited calls the callbacks of the children that have exited. It reports whether the stop
// has left no child.
func (c *childProcesses) collectExited() bool {
	var callbacks []func()
	c.mu.Lock()
	for pid, onExit := range c.exitCallbacks {
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); got == pid || err == syscall.ECHILD {
			delete(c.exitCallbacks, pid)
			callbacks = append(callbacks, func() { onExit(status) })
		}
	}
	last := c.stopping && len(c.exitCallbacks) == 0
	c.mu.Unlock()
	for _, callback := range callbacks {
		callback()
	}
	return last
}

// forward sends signals to the children until none is left.
func (c *childProcesses) forward(signals <-chan os.Signal) {
	for {
		select {
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok {
				c.signalAll(number)
			}
		case <-c.reaperDonec:
			return
		}
	}
}

// stop closes the lifeline, waits for the children, and kills those that are late.
func (c *childProcesses) stop() error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.lifelineWriter.Close()
	c.wakeReaper()
	late := time.NewTimer(c.options.DrainTimeout + grace)
	defer late.Stop()
	var killed error
	select {
	case <-c.reaperDonec:
	case <-late.C:
		killed = ErrDeadline
		c.signalAll(syscall.SIGKILL)
		<-c.reaperDonec
	case <-c.options.AbortStop:
		killed = ErrDeadline
		c.cutOff()
	}
	signal.Stop(c.signalc)
	c.lifelineReader.Close()
	c.options.Meter.retire(c.counters)
	return killed
}

// wakeReaper requests another look for exited children.
func (c *childProcesses) wakeReaper() {
	select {
	case c.signalc <- syscall.SIGCHLD:
	default:
	}
}

// abortGrace is how long a child may take to exit after a stop is cut short.
const abortGrace = 500 * time.Millisecond

// cutOff ends the children without a drain. Of two equal signals a child may see one only.
func (c *childProcesses) cutOff() {
	c.signalAll(syscall.SIGTERM)
	c.signalAll(syscall.SIGINT)
	late := time.NewTimer(abortGrace)
	defer late.Stop()
	select {
	case <-c.reaperDonec:
	case <-late.C:
		c.signalAll(syscall.SIGKILL)
		<-c.reaperDonec
	}
}

func (c *childProcesses) signalAll(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid := range c.exitCallbacks {
		syscall.Kill(pid, s) // the process id is still ours: it was not waited for
	}
}

// InheritedFile returns, in a child process, the file with this index in the parent's
// [Options.ChildFiles]. It may be called once for each file. Programs that the child starts do not
// inherit it.
func InheritedFile(index int, name string) *os.File {
	syscall.CloseOnExec(firstFileFD + index)
	return os.NewFile(uintptr(firstFileFD+index), name)
}

// inherited opens what a child inherits: the socket, and a context that ends with ctx or with the
// parent. The returned function ends the watch over the parent.
func inherited(ctx context.Context, o Options) (*os.File, context.Context, func(), error) {
	if err := syscall.SetNonblock(lifelineFD, true); err != nil {
		return nil, nil, nil, errors.New("serve: nothing is inherited: this program was not started as a child")
	}
	syscall.CloseOnExec(inheritedSocketFD)
	syscall.CloseOnExec(lifelineFD)
	socket, line := os.NewFile(inheritedSocketFD, "inherited socket"), os.NewFile(lifelineFD, "lifeline")
	ctx, cancel := context.WithCancel(ctx)
	if o.OnStop != nil {
		context.AfterFunc(ctx, o.OnStop)
	}
	donec := make(chan struct{}) // closed by the goroutine that reads the lifeline
	go func() {
		defer close(donec)
		io.Copy(io.Discard, line) // until the parent closes its end, or line is closed here
		cancel()
	}()
	return socket, ctx, func() { cancel(); line.Close(); <-donec }, nil
}

// connOf returns the connection in file and closes file.
func connOf(file *os.File) (net.Conn, error) {
	defer file.Close()
	return net.FileConn(file)
}

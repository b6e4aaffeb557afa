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

// The descriptors that a child finds.
const (
	inheritedSocket = 3
	lifeline        = 4
)

// children are the processes of a way that splits.
//
// Ownership: the parent holds the write end of a pipe, the lifeline, whose read end every child
// has. One goroutine, the reaper, waits for all children; a blocking wait for each would cost a
// thread for each.
//
// Stop: closing the lifeline tells all children at once, and so does the parent's death, whatever
// it died of. Each child then drains as its own way says. Those that are there longer than
// Options.Drain and the grace are killed. The reaper ends when none is left.
type children struct {
	o      Options
	theirs *os.File // read end of the lifeline
	// of theirs; asked for once, because asking makes it block, for the children too
	fd   uintptr
	ours *os.File // write end
	// runtime, stop -> reaper: look for children that ended; one suffices, never closed
	sigc  chan os.Signal
	gonec chan struct{} // closed by the reaper

	mu       sync.Mutex
	lane     *lane
	alive    map[int]func(syscall.WaitStatus) // by process id: whom to tell, outside the lock
	stopping bool
}

func newChildren(o Options) (*children, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("serve: the pipe that ties children to their parent: %w", err)
	}
	c := &children{o: o, lane: o.Meter.lane(), theirs: r, fd: r.Fd(), ours: w, alive: make(map[int]func(syscall.WaitStatus)),
		sigc: make(chan os.Signal, 1), gonec: make(chan struct{})}
	signal.Notify(c.sigc, syscall.SIGCHLD)
	go c.reap()
	return c, nil
}

// start starts a child that inherits socket. The reaper calls ended, which must not block.
func (c *children) start(socket syscall.Conn, ended func(syscall.WaitStatus)) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var startErr error
	// Not File.Fd, which would make the socket block, for everybody who shares it.
	err = raw.Control(func(fd uintptr) { startErr = c.startWith(fd, ended) })
	return errors.Join(err, startErr)
}

func (c *children) startWith(fd uintptr, ended func(syscall.WaitStatus)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return ErrStopped
	}
	pid, err := syscall.ForkExec(c.o.Child[0], c.o.Child, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, fd, c.fd},
	})
	if err != nil {
		return fmt.Errorf("serve: starting the child process %s: %w", c.o.Child[0], err)
	}
	c.lane.children.add(1)
	c.alive[pid] = ended
	return nil
}

// reap waits for the children that have ended, whenever one has, until the stop has none left.
func (c *children) reap() {
	defer close(c.gonec)
	for range c.sigc {
		if c.collect() {
			return
		}
	}
}

// collect tells of the children that have ended, and reports whether there will be none any more.
func (c *children) collect() bool {
	var told []func()
	c.mu.Lock()
	for pid, ended := range c.alive {
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); got == pid || err == syscall.ECHILD {
			delete(c.alive, pid)
			told = append(told, func() { ended(status) })
		}
	}
	last := c.stopping && len(c.alive) == 0
	c.mu.Unlock()
	for _, tell := range told {
		tell()
	}
	return last
}

// stop tells the children to stop, waits for them, and kills those that do not.
func (c *children) stop() error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.ours.Close()
	c.look()
	late := time.NewTimer(c.o.Drain + grace)
	defer late.Stop()
	var killed error
	select {
	case <-c.gonec:
	case <-late.C:
		killed = ErrDeadline
		c.kill()
		<-c.gonec
	}
	signal.Stop(c.sigc)
	c.theirs.Close()
	c.o.Meter.retire(c.lane)
	return killed
}

// look has the reaper look once more.
func (c *children) look() {
	select {
	case c.sigc <- syscall.SIGCHLD:
	default:
	}
}

func (c *children) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid := range c.alive {
		syscall.Kill(pid, syscall.SIGKILL) // still ours: it was not waited for
	}
}

// inherited opens what a child inherits: the socket, and a context that ends with ctx or with the
// parent. The returned function ends the watch over the parent.
func inherited(ctx context.Context) (*os.File, context.Context, func(), error) {
	if err := syscall.SetNonblock(lifeline, true); err != nil {
		return nil, nil, nil, errors.New("serve: nothing is inherited: this program was not started as a child")
	}
	socket, line := os.NewFile(inheritedSocket, "inherited socket"), os.NewFile(lifeline, "lifeline")
	ctx, cancel := context.WithCancel(ctx)
	donec := make(chan struct{}) // closed by the watcher
	go func() {
		defer close(donec)
		io.Copy(io.Discard, line) // until the parent closes its end, or line is closed here
		cancel()
	}()
	return socket, ctx, func() { cancel(); line.Close(); <-donec }, nil
}

// connOf is the connection in file, which it closes.
func connOf(file *os.File) (net.Conn, error) {
	defer file.Close()
	return net.FileConn(file)
}

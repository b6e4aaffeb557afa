package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopTimeout is how long the command may take to end after SIGTERM.
const stopTimeout = 5 * time.Second

// Guest is a namespace with a device.
type Guest struct {
	Device  *os.File // the device's descriptor; the caller's
	helper  *exec.Cmd
	ended   chan error // the goroutine of start -> Wait: the result of the helper, one
	control *net.UnixConn
}

// Start starts the helper, by the arguments self, and returns when the device is there. Standard
// input, output and error are the command's. Canceling ctx ends it by SIGTERM. If this process is
// killed, the system kills the command.
func Start(ctx context.Context, self []string, c Config) (*Guest, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	args, attr, err := c.helper(self)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	g := &Guest{helper: exec.CommandContext(ctx, args[0], args[1:]...), control: ours, ended: make(chan error, 1)}
	g.helper.Cancel = func() error { return g.helper.Process.Signal(syscall.SIGTERM) }
	g.helper.WaitDelay = stopTimeout
	g.helper.Stdin, g.helper.Stdout, g.helper.Stderr = os.Stdin, os.Stdout, os.Stderr
	g.helper.ExtraFiles, g.helper.SysProcAttr = []*os.File{theirs}, attr
	if err := g.start(); err != nil {
		return nil, errors.Join(startError(err), ours.Close())
	}
	theirs.Close()
	if err := g.receive(c); err != nil {
		return nil, g.stop(err)
	}
	return g, nil
}

// start starts the helper, which the system kills when the thread that has started it ends: that
// thread waits for it.
func (g *Guest) start() error {
	started := make(chan error) // the goroutine -> start: one error
	go func() {                 // until the helper has ended
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := g.helper.Start()
		started <- err
		if err == nil {
			g.ended <- g.helper.Wait()
		}
	}()
	return <-started
}

// startError explains why the helper could not be started.
func startError(err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		hint = ": user namespaces are not allowed here: run this as root, or see the sysctls kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		hint = ": there are as many namespaces as the sysctls user.max_user_namespaces and user.max_net_namespaces allow"
	}
	return fmt.Errorf("guest: starting a process in other namespaces: %w%s", err, hint)
}

// helper returns the arguments and attributes of the helper.
func (c *Config) helper(self []string) ([]string, *syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.PID == 0 {
		attr.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS
		if uid := os.Geteuid(); uid != 0 {
			attr.Cloneflags |= syscall.CLONE_NEWUSER
			attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
			attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
		}
		return self, attr, nil
	}
	args := []string{"nsenter", "--target", strconv.Itoa(c.PID), "--net"}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return nil, nil, err
	}
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", c.PID))
	if err != nil {
		return nil, nil, fmt.Errorf("guest: the namespaces of process %d: %w: check that it runs, and is yours", c.PID, err)
	}
	if its != own {
		args = append(args, "--user", "--preserve-credentials")
	}
	return append(append(args, "--"), self...), attr, nil
}

// socketPair returns a pair of sockets that keep message boundaries, the second for a child.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	near, far := os.NewFile(uintptr(fds[0]), "guest"), os.NewFile(uintptr(fds[1]), "guest")
	defer near.Close()
	c, err := net.FileConn(near)
	if err != nil {
		return nil, nil, errors.Join(err, far.Close())
	}
	return c.(*net.UnixConn), far, nil
}

// receive gives the helper its config, and receives the device.
func (g *Guest) receive(c Config) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if _, err := g.control.Write(text); err != nil {
		return err
	}
	message, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := g.control.ReadMsgUnix(message, rights)
	switch {
	case err != nil:
		return fmt.Errorf("guest: the helper has sent no device: %w", err)
	case n == 0 || message[0] != 'k':
		return errors.New(string(message[:n]))
	}
	all, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(all) != 1 {
		return errors.New("guest: the helper has sent no device")
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) != 1 {
		return errors.New("guest: the helper has sent no device")
	}
	unix.CloseOnExec(fds[0])
	g.Device = os.NewFile(uintptr(fds[0]), c.Device)
	return nil
}

// Proceed lets the command begin: the network is there.
func (g *Guest) Proceed() error {
	_, err := g.control.Write([]byte{'g'})
	return err
}

// Wait waits until the command has ended. The error is an *exec.ExitError if it has failed.
func (g *Guest) Wait() error {
	defer g.control.Close()
	return <-g.ended
}

// stop ends the helper after an error, and returns that with the status of the helper.
func (g *Guest) stop(err error) error {
	g.control.Close()
	ended := <-g.ended
	if _, ok := errors.AsType[*exec.ExitError](ended); !ok {
		return errors.Join(err, ended)
	}
	for _, gone := range []error{io.EOF, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, gone) { // it has printed why, unless it was killed
			return fmt.Errorf("guest: the helper has ended before the device was there: %w: start the network again", ended)
		}
	}
	return err // the helper has sent it
}

// Ended returns a channel that is closed when a process has ended, or ctx.
func Ended(ctx context.Context, pid int) (<-chan struct{}, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EINVAL) && pid > 0:
		return nil, fmt.Errorf("guest: waiting for process %d: %w: it needs Linux 5.10", pid, err)
	case err != nil:
		return nil, fmt.Errorf("guest: the process %d: %w: check that it runs", pid, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	ended := make(chan struct{}) // closed by the goroutine
	stop := context.AfterFunc(ctx, func() { f.Close() })
	go func() { // until the process has ended, or ctx
		defer close(ended)
		defer stop()
		raw.Read(func(fd uintptr) bool { //nolint:errcheck // ctx has ended
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0
		})
		f.Close()
	}()
	return ended, nil
}

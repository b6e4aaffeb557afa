package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
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
	control *net.UnixConn
}

// Start starts the helper, by the arguments self, and returns when the device is there. Standard
// input, output and error are the command's. Canceling ctx ends it by SIGTERM.
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
	g := &Guest{helper: exec.CommandContext(ctx, args[0], args[1:]...), control: ours}
	g.helper.Cancel = func() error { return g.helper.Process.Signal(syscall.SIGTERM) }
	g.helper.WaitDelay = stopTimeout
	g.helper.Stdin, g.helper.Stdout, g.helper.Stderr = os.Stdin, os.Stdout, os.Stderr
	g.helper.ExtraFiles, g.helper.SysProcAttr = []*os.File{theirs}, attr
	if err := g.helper.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("guest: starting a process in other namespaces: %w", err), ours.Close())
	}
	theirs.Close()
	if err := g.receive(c); err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return g, nil
}

// helper returns the arguments and attributes of the helper.
func (c *Config) helper(self []string) ([]string, *syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{}
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
		return nil, nil, fmt.Errorf("guest: the namespaces of process %d: %w", c.PID, err)
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
	return g.helper.Wait()
}

// stop ends the helper after an error.
func (g *Guest) stop() error {
	g.control.Close()
	err := g.helper.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil // its reason was received or printed
	}
	return err
}

package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"weir/internal/freeport"
	"weir/internal/tail"
	"weir/lab/sample"
	"weir/lab/workload"
)

// upstreamReady is how long the upstream may take to listen.
const upstreamReady = 20 * time.Second

// upstreamProcess is the server behind the subjects of the workload proxy: weir serve with an event
// loop, on the generator's cores. It serves all trials of a run, and its CPU is not the subject's.
type upstreamProcess struct {
	group  *sample.Group
	cmd    *exec.Cmd
	stderr *tail.Buffer
	addr   string
}

// startUpstreamProcess starts the lab's own program as the server of a folder. Close must be
// called.
func startUpstreamProcess(ctx context.Context, www string, s *workload.Site) (u *upstreamProcess, err error) {
	if s.InNamespaces() {
		return nil, errors.New("lab: the workload proxy has three ends, and namespaces are for two: leave --veth out")
	}
	port, err := freeport.Choose(s.Host)
	if err != nil {
		return nil, err
	}
	u = &upstreamProcess{stderr: tail.New(4096), addr: net.JoinHostPort(s.Host, fmt.Sprint(port))}
	u.cmd = exec.Command(s.Program, "serve", "run", www, "--listen", u.addr, "--engine", "http1", "--model", "loop")
	u.cmd.Stderr, u.cmd.SysProcAttr = u.stderr, &syscall.SysProcAttr{Setpgid: true}
	if u.group, err = sample.NewGroup("upstream"); err != nil {
		return nil, err
	}
	if err = u.group.Start(u.cmd, s.Load); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: cannot start the upstream: %w", err), u.group.Close())
	}
	if err = u.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

// awaitReady waits until the upstream accepts connections.
func (u *upstreamProcess) awaitReady(ctx context.Context) error {
	for deadline := time.Now().Add(upstreamReady); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", u.addr, time.Second)
		if err == nil {
			return c.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("lab: the upstream is not ready after %v: %s", upstreamReady, strings.TrimPrefix(u.stderr.LastLine(), "weir: "))
		}
	}
}

// close kills the upstream and removes its group.
func (u *upstreamProcess) close() error {
	if u == nil {
		return nil
	}
	err := u.group.Close()
	u.cmd.Wait() //nolint:errcheck // it was killed
	return err
}

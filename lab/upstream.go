package lab

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
)

const (
	// proxied is the workload of proxies: requests for the files of an upstream.
	proxied = "proxy"
	// upstreamReady is how long the upstream may take to listen.
	upstreamReady = 20 * time.Second
)

// upstream is the server behind the subjects of the workload proxy: weir serve with an event loop,
// on the generator's cores. It serves all trials of a run, and its CPU is not the subject's.
type upstream struct {
	group  *sample.Group
	cmd    *exec.Cmd
	stderr *tail.Buffer
	addr   string
}

// startUpstream starts program, which is that of the lab, as the server of a folder. Close must be
// called.
func startUpstream(ctx context.Context, program, www string, s *site) (u *upstream, err error) {
	if s.server.Netns != "" {
		return nil, errors.New("lab: the workload proxy has three ends, and namespaces are for two: leave --veth out")
	}
	port, err := freeport.Choose(s.host)
	if err != nil {
		return nil, err
	}
	u = &upstream{stderr: tail.New(4096), addr: net.JoinHostPort(s.host, fmt.Sprint(port))}
	u.cmd = exec.Command(program, "serve", "run", www, "--listen", u.addr, "--engine", "http1", "--model", "loop")
	u.cmd.Stderr, u.cmd.SysProcAttr = u.stderr, &syscall.SysProcAttr{Setpgid: true}
	if u.group, err = sample.NewGroup("upstream"); err != nil {
		return nil, err
	}
	if err = u.group.Start(u.cmd, s.load); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: cannot start the upstream: %w", err), u.group.Close())
	}
	if err = u.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

// awaitReady waits until the upstream accepts connections.
func (u *upstream) awaitReady(ctx context.Context) error {
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

// cpu returns the CPU that the upstream used so far; 0 if there is none.
func (u *upstream) cpu() (time.Duration, error) {
	if u == nil {
		return 0, nil
	}
	return u.group.CPU()
}

// close kills the upstream and removes its group.
func (u *upstream) close() error {
	if u == nil {
		return nil
	}
	err := u.group.Close()
	u.cmd.Wait() //nolint:errcheck // it was killed
	return err
}

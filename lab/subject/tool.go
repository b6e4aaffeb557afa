package subject

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"weir/lab/sample"
)

// outputGrace is how long processes that a tool left may keep its output open.
const outputGrace = 2 * time.Second

// tool prepares a command of the subject that runs to its end. It has its own process group, so
// that Ctrl-C does not reach it.
func (s *Subject) tool(ctx context.Context, words []string) *exec.Cmd {
	words = s.fillFolders(words)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputGrace
	return cmd
}

// runTool runs a command of tool to its end. Processes that it leaves in the background are killed,
// also those that left its process group. Where their descent cannot be followed, only the process
// group is killed.
func (s *Subject) runTool(cmd *exec.Cmd) (err error) {
	start := cmd.Start
	if group, none := sample.NewGroup(s.Name); none == nil {
		start = func() error { return group.Start(cmd, sample.Placement{}) }
		defer func() { err = cmp.Or(err, group.Close()) }()
	}
	if err = start(); err != nil {
		return err
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // nothing may be left
	if err = cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command succeeded, and only its output was held open
	}
	return err
}

// headKept is how many bytes a head keeps.
const headKept = 4096

// head is an io.Writer that keeps the first bytes that are written to it.
type head struct{ kept []byte }

// Write never fails.
func (h *head) Write(b []byte) (int, error) {
	h.kept = append(h.kept, b[:min(len(b), headKept-len(h.kept))]...)
	return len(b), nil
}
